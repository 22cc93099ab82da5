-- name: table
-- Tasks that were asked for and are not made yet; those with a reason never will be, as they are.
create table if not exists stepward_outbox (
    number bigint generated always as identity primary key,
    app text not null,
    id text not null,
    body text not null,
    written_at timestamptz not null default now(),
    reason text
)

-- name: index
-- What relays look for.
create index if not exists stepward_outbox_waiting on stepward_outbox (app, number) where reason is null

-- name: put
-- One more; everything comes as one text.
insert into stepward_outbox (app, id, body)
select given ->> 'app', given ->> 'id', given ->> 'body' from (select cast(cast(:given as text) as json) as given) as v

-- name: find
-- Whether the table is there.
select to_regclass('stepward_outbox') is not null

-- name: lock
-- One relay creates it at a time.
select pg_advisory_xact_lock(hashtextextended('stepward outbox', 0))

-- name: take
-- The first that nobody else has, without those that are passed over; what is larger than any submission is not read.
-- Everything comes as bytes, for a database without an encoding holds any.
select
    number,
    convert_to(left(id, 1000), case current_setting('server_encoding') when 'SQL_ASCII' then 'SQL_ASCII' else 'UTF8' end),
    case when octet_length(body) <= $3 then
        convert_to(body, case current_setting('server_encoding') when 'SQL_ASCII' then 'SQL_ASCII' else 'UTF8' end)
    end
from stepward_outbox
where app = $1 and reason is null and number <> all($4::bigint[]) order by number limit $2 for update skip locked

-- name: remove
-- Tasks that were made.
delete from stepward_outbox where number = any($1::bigint[])

-- name: set_aside
-- Those that cannot be made, with the reason.
update stepward_outbox as o set reason = v.reason
from unnest($1::bigint[], $2::text[]) as v (number, reason) where o.number = v.number
