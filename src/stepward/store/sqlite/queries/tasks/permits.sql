-- name: limits
-- Returns limits by their names.
select {flow_limit} from stepward_flow_limit where name in (select value from json_each(?1))

-- name: lock
-- Locks nothing: the write transaction holds the whole file.
select 1

-- name: held
-- Returns those of the tasks that have a permit.
select task from stepward_task_permit where held = 1 and task in (select value from json_each(?1))

-- name: directed
-- Returns those of the tasks in whose inbox is more than signals.
select distinct task from stepward_inbox where task in (select value from json_each(?1)) and kind <> 'signal'

-- name: used
-- Returns how many permits there are under a name and key, for each of many.
select json_extract(v.value, '$[0]'), json_extract(v.value, '$[1]'),
    (select count(*) from stepward_task_permit as p
        where p.name = json_extract(v.value, '$[0]') and p.key = json_extract(v.value, '$[1]') and p.held = 1)
from json_each(?1) as v

-- name: put
-- Writes permits, and tasks that wait for one.
insert into stepward_task_permit (task, name, key, held, priority) values (?1, ?2, ?3, ?4, ?5)
on conflict (task) do update set name = excluded.name, key = excluded.key, held = excluded.held,
    priority = excluded.priority

-- name: park
-- Lets claimed tasks wait for a permit, without an owner.
update stepward_task
set state = 'waiting', locked_by = null, complete_by = null, wake_at = null, waits_for = 'limit',
    started_at = case when ?2 then null else started_at end
where uid = ?1

-- name: wake
-- Makes the tasks due that wait for a permit under a name: they ask again. Tasks that others have locked are left out.
update stepward_task set wake_at = ?2
where uid in (select task from stepward_task_permit where name = ?1 and held = 0)
    and state = 'waiting' and waits_for = 'limit' and wake_at is null and locked_by is null

-- name: counts
-- Returns how many tasks have a permit, and how many wait for one, by the name of the limit.
select name, held, count(*) from stepward_task_permit group by name, held
