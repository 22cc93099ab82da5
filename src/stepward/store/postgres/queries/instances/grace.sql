-- name: silence
-- Returns whether all instances have been silent since the last grace: the first to renew recorded it, or the leases of
-- all that had started before the silence have run out.
select exists (select 1 from {schema}.instance where alive and silent_at > $2)
    or (exists (select 1 from {schema}.instance where alive and renewed_at > $2 and expires_at <= $1)
        and not exists (select 1 from {schema}.instance where alive and expires_at > $1 and started_at < (
            select max(expires_at) from {schema}.instance where alive and expires_at <= $1)))

-- name: forgiven_at
-- Returns the instant of the last grace.
select coalesce((select value::float8 from {schema}.meta where key = 'forgiven_at'), 0.0)

-- name: write_forgiven_at
-- Writes the instant of the grace; each silence gets one grace.
insert into {schema}.meta values ('forgiven_at', $1::float8::text)
on conflict (key) do update set value = excluded.value

-- name: extend_leases
-- Extends the leases of live instances by the grace.
update {schema}.instance as i set expires_at = greatest(i.expires_at, $1) + $2
from (select id from {schema}.instance where alive order by id for update) as living
where i.id = living.id and i.alive

-- name: restart_leases
-- Restarts the leases of live instances after the clock was set: where it was set back, the old leases would last that
-- much longer.
update {schema}.instance as i set expires_at = $1::float8 + $2::float8
from (select id from {schema}.instance where alive order by id for update) as living
where i.id = living.id and i.alive

-- name: grace
-- Returns the position of a grace that is in progress, and locks it until the transaction ends.
select value from {schema}.meta where key = 'grace' for update

-- name: write_grace
-- Writes the position of the grace.
insert into {schema}.meta (key, value) values ('grace', $1) on conflict (key) do update set value = excluded.value

-- name: end_grace
-- Ends the grace: all tasks have it.
delete from {schema}.meta where key = 'grace'

-- name: held
-- Returns the next tasks that have owners after a position: owner, uid and uid again.
select locked_by, uid, uid from {schema}.task
where locked_by is not null and (locked_by, uid) > ($1, $2) order by locked_by, uid limit $3

-- name: extend_tasks
-- Extends the complete-by of tasks that have owners; tasks are locked before their steps, in the order of their uids.
update {schema}.task as t set complete_by = greatest(t.complete_by, $1) + $2
from (select uid from {schema}.task where uid = any($3::text[]) order by uid for update) as held
where t.uid = held.uid and case when t.locked_by is not null then true end and t.complete_by is not null

-- name: extend_steps
-- Extends the complete-by of the running steps of tasks that have owners; a task without an owner was not held up.
update {schema}.step as s set complete_by = greatest(s.complete_by, $1) + $2
from {schema}.task as t
cross join lateral (
    select task, run, key from {schema}.step
    where task = t.uid and state = 'running' and complete_by is not null offset 0) as r
where t.uid = any($3::text[]) and case when t.locked_by is not null then true end
    and s.task = r.task and s.run = r.run and s.key = r.key

-- name: restart_deadlines
-- Restarts deadlines that have passed since the clock was set, for a bounded number of tasks.
update {schema}.task as t set deadline = $2
from (select uid from {schema}.task where uid = any(array(
        select uid from {schema}.task
        where deadline is not null and finished_at is null and state <> 'undoing' and deadline <= $1
        order by deadline limit $3))
    order by uid for update) as late
where t.uid = late.uid
