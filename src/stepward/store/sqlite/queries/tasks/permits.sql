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
select name, held, count(*) from stepward_task_permit where name <> '' group by name, held

-- name: due
-- Returns up to ?2 buckets in which waiting tasks may start.
select name, key from stepward_rate_bucket where due_at <= ?1 order by due_at limit ?2

-- name: next_start
-- Returns when the first waiting task may start under the rate of its workflow.
select due_at from stepward_rate_bucket where due_at is not null order by due_at limit 1

-- name: full_at
-- Returns when buckets are full again.
select b.name, b.key, b.full_at
from json_each(?1) as wanted
cross join stepward_rate_bucket as b on b.name = wanted.value ->> 0 and b.key = wanted.value ->> 1

-- name: put_bucket
-- Writes buckets, each with the instant at which waiting tasks may start.
insert into stepward_rate_bucket (name, key, full_at, due_at) values (?1, ?2, ?3, ?4)
on conflict (name, key) do update set full_at = excluded.full_at, due_at = excluded.due_at

-- name: disarm
-- Lets no tasks go from buckets whose limit has no rate any more.
update stepward_rate_bucket set due_at = null where name = ?1 and key = ?2

-- name: forget_full
-- Deletes up to ?2 buckets that are full.
delete from stepward_rate_bucket
where (name, key) in (
    select name, key from stepward_rate_bucket where due_at is null and full_at <= ?1 order by full_at limit ?2)

-- name: waiting
-- Returns the buckets in which tasks wait that were not let go.
select wanted.value ->> 0, wanted.value ->> 1 from json_each(?1) as wanted
where exists (
    select 1 from stepward_task_permit as w cross join stepward_task as t on t.uid = w.task
    where w.name = wanted.value ->> 0 and w.key = wanted.value ->> 1 and w.held = 0
        and t.state = 'waiting' and t.waits_for = 'limit' and t.wake_at is null and t.locked_by is null)

-- name: let_go
-- Makes up to ?3 waiting tasks of a bucket claimable.
update stepward_task set state = 'pending', wake_at = null
where uid in (
    select n.uid from stepward_task_permit as w cross join stepward_task as n on n.uid = w.task
    where w.name = ?1 and w.key = ?2 and w.held = 0
        and n.state = 'waiting' and n.waits_for = 'limit' and n.wake_at is null and n.locked_by is null
    order by w.priority desc, w.task limit ?3)
