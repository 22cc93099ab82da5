-- name: table
-- Creates the outbox table. A row is a task that is not submitted yet; a row with a reason cannot be submitted as it
-- is.
create table if not exists stepward_outbox (
    number integer primary key autoincrement,
    app text not null,
    id text not null,
    body text not null,
    written_at text not null default current_timestamp,
    reason text
)

-- name: index
-- Creates the index that relays read.
create index if not exists stepward_outbox_waiting on stepward_outbox (app, number) where reason is null

-- name: put
-- Inserts a row; all values come as one JSON text.
insert into stepward_outbox (app, id, body)
select given ->> 'app', given ->> 'id', given ->> 'body' from (select :given as given)

-- name: take
-- Returns the first rows, without those to skip; another relay may read them too. A body above the size limit comes as
-- null. Values come as they are stored, because SQLite's columns hold any type.
select
    number,
    substr(cast(id as blob), 1, 1000),
    case when length(cast(body as blob)) <= ?3 then cast(body as blob) end,
    typeof(id) = 'text' and typeof(body) = 'text'
from stepward_outbox
where app = ?1 and reason is null and number not in (select value from json_each(?4)) order by number limit ?2

-- name: remove
-- Deletes a row whose task was submitted.
delete from stepward_outbox where number = ?1

-- name: set_aside
-- Sets the reason of a row that cannot be submitted.
update stepward_outbox set reason = ?2 where number = ?1
