-- name: limits
-- Returns limits by their names.
select {flow_limit} from {schema}.flow_limit where name = any($1::text[])

-- name: lock
-- Locks all permits until the transaction ends.
select pg_advisory_xact_lock('{schema}.task_permit'::regclass::oid::bigint)

-- name: held
-- Returns those of the tasks that have a permit.
select task from {schema}.task_permit where held and task = any($1::text[])

-- name: directed
-- Returns those of the tasks in whose inbox is more than signals.
select distinct task from {schema}.inbox where task = any($1::text[]) and kind <> 'signal'

-- name: used
-- Returns how many permits there are under a name and key, for each of many.
select v.name, v.key,
    (select count(*) from {schema}.task_permit as p where p.name = v.name and p.key = v.key and p.held)
from unnest($1::text[], $2::text[]) as v (name, key)

-- name: put
-- Writes permits, and tasks that wait for one.
insert into {schema}.task_permit (task, name, key, held, priority)
select * from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::integer[])
on conflict (task) do update set name = excluded.name, key = excluded.key, held = excluded.held,
    priority = excluded.priority

-- name: park
-- Lets claimed tasks wait for a permit, without an owner.
update {schema}.task as t
set state = 'waiting', locked_by = null, complete_by = null, wake_at = null, waits_for = 'limit',
    started_at = case when v.is_new then null else t.started_at end
from unnest($1::text[], $2::boolean[]) as v (uid, is_new)
where t.uid = v.uid

-- name: wake
-- Makes the tasks due that wait for a permit under a name: they ask again. Tasks that others have locked are left out.
update {schema}.task as t set wake_at = $2
from (
    select n.uid from {schema}.task_permit as w join {schema}.task as n on n.uid = w.task
    where w.name = $1 and not w.held
        and n.state = 'waiting' and n.waits_for = 'limit' and n.wake_at is null and n.locked_by is null
    for update of n skip locked) as waiting
where t.uid = waiting.uid

-- name: counts
-- Returns how many tasks have a permit, and how many wait for one, by the name of the limit.
select name, held, count(*) from {schema}.task_permit group by name, held
