-- name: table
-- Creates the outbox table. A row is a task that is not submitted yet; a row with a reason cannot be submitted as it
-- is.
create table if not exists stepward_outbox (
    number bigint generated always as identity primary key,
    app text not null,
    id text not null,
    body text not null,
    written_at timestamptz not null default now(),
    reason text
)

-- name: index
-- Creates the index that relays read.
create index if not exists stepward_outbox_waiting on stepward_outbox (app, number) where reason is null

-- name: put
-- Inserts a row; all values come as one JSON text.
insert into stepward_outbox (app, id, body)
select given ->> 'app', given ->> 'id', given ->> 'body' from (select cast(cast(:given as text) as json) as given) as v

-- name: find
-- Returns whether the table exists.
select to_regclass('stepward_outbox') is not null

-- name: lock
-- Lets one relay at a time create the table.
select pg_advisory_xact_lock(hashtextextended('stepward outbox', 0))

-- name: take
-- Returns the first rows that no other relay has locked, without those to skip. A body above the size limit comes as
-- null. Values come as bytes, because a database without an encoding holds any.
select
    number,
    convert_to(left(id, 1000), case current_setting('server_encoding') when 'SQL_ASCII' then 'SQL_ASCII' else 'UTF8' end),
    case when octet_length(body) <= $3 then
        convert_to(body, case current_setting('server_encoding') when 'SQL_ASCII' then 'SQL_ASCII' else 'UTF8' end)
    end
from stepward_outbox
where app = $1 and reason is null and number <> all($4::bigint[]) order by number limit $2 for update skip locked

-- name: remove
-- Deletes rows whose tasks were submitted.
delete from stepward_outbox where number = any($1::bigint[])

-- name: set_aside
-- Sets the reason of rows that cannot be submitted.
update stepward_outbox as o set reason = v.reason
from unnest($1::bigint[], $2::text[]) as v (number, reason) where o.number = v.number
