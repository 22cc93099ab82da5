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
select name, held, count(*) from {schema}.task_permit where name <> '' group by name, held

-- name: due
-- Returns up to $2 buckets in which waiting tasks may start.
select name, key from {schema}.rate_bucket where due_at <= $1 order by due_at limit $2

-- name: next_start
-- Returns when the first waiting task may start under the rate of its workflow.
select due_at from {schema}.rate_bucket where due_at is not null order by due_at limit 1

-- name: full_at
-- Returns when buckets are full again.
select b.name, b.key, b.full_at
from unnest($1::text[], $2::text[]) as v (name, key) join {schema}.rate_bucket as b on b.name = v.name and b.key = v.key

-- name: put_bucket
-- Writes buckets, each with the instant at which waiting tasks may start.
insert into {schema}.rate_bucket (name, key, full_at, due_at)
select * from unnest($1::text[], $2::text[], $3::float8[], $4::float8[])
on conflict (name, key) do update set full_at = excluded.full_at, due_at = excluded.due_at

-- name: disarm
-- Lets no tasks go from buckets whose limit has no rate any more.
update {schema}.rate_bucket as b set due_at = null
from unnest($1::text[], $2::text[]) as v (name, key) where b.name = v.name and b.key = v.key

-- name: forget_full
-- Deletes up to $2 buckets that are full.
delete from {schema}.rate_bucket as b
using (select name, key from {schema}.rate_bucket where due_at is null and full_at <= $1 order by full_at limit $2) as o
where b.name = o.name and b.key = o.key

-- name: waiting
-- Returns the buckets in which tasks wait that were not let go.
select v.name, v.key from unnest($1::text[], $2::text[]) as v (name, key)
where exists (
    select 1 from {schema}.task_permit as w join {schema}.task as t on t.uid = w.task
    where w.name = v.name and w.key = v.key and not w.held
        and t.state = 'waiting' and t.waits_for = 'limit' and t.wake_at is null and t.locked_by is null)

-- name: let_go
-- Makes up to $3 waiting tasks of a bucket claimable, of each of many buckets. Tasks that others have locked are left
-- out.
update {schema}.task as t set state = 'pending', wake_at = null
from unnest($1::text[], $2::text[], $3::integer[]) as v (name, key, most)
cross join lateral (
    select n.uid from {schema}.task_permit as w join {schema}.task as n on n.uid = w.task
    where w.name = v.name and w.key = v.key and not w.held
        and n.state = 'waiting' and n.waits_for = 'limit' and n.wake_at is null and n.locked_by is null
    order by w.priority desc, w.task limit v.most for update of n skip locked) as chosen
where t.uid = chosen.uid
