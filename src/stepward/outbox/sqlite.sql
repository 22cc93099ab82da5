-- name: table
-- Tasks that were asked for and are not made yet; those with a reason never will be, as they are.
create table if not exists stepward_outbox (
    number integer primary key autoincrement,
    app text not null,
    id text not null,
    body text not null,
    written_at text not null default current_timestamp,
    reason text
)

-- name: index
-- What relays look for.
create index if not exists stepward_outbox_waiting on stepward_outbox (app, number) where reason is null

-- name: put
-- One more; everything comes as one text.
insert into stepward_outbox (app, id, body)
select given ->> 'app', given ->> 'id', given ->> 'body' from (select :given as given)

-- name: take
-- The first, without those that are passed over; another relay may take them too. What is larger than any submission
-- is not read. Everything comes as it is stored, for columns hold whatever was put there.
select
    number,
    substr(cast(id as blob), 1, 1000),
    case when length(cast(body as blob)) <= ?3 then cast(body as blob) end,
    typeof(id) = 'text' and typeof(body) = 'text'
from stepward_outbox
where app = ?1 and reason is null and number not in (select value from json_each(?4)) order by number limit ?2

-- name: remove
-- A task that was made.
delete from stepward_outbox where number = ?1

-- name: set_aside
-- One that cannot be made, with the reason.
update stepward_outbox set reason = ?2 where number = ?1
