-- name: silence
-- Whether all fell silent since the last grace: noted by the first to renew, or the leases of all who were there are
-- past; who came after the silence says nothing of it.
select exists (select 1 from {schema}.instance where alive and silent_at > $2)
    or (exists (select 1 from {schema}.instance where alive and renewed_at > $2 and expires_at <= $1)
        and not exists (select 1 from {schema}.instance where alive and expires_at > $1 and started_at < (
            select max(expires_at) from {schema}.instance where alive and expires_at <= $1)))

-- name: forgiven_at
-- When grace was last given.
select coalesce((select value::float8 from {schema}.meta where key = 'forgiven_at'), 0.0)

-- name: write_forgiven_at
-- Grace is given once for each silence.
insert into {schema}.meta values ('forgiven_at', $1::float8::text)
on conflict (key) do update set value = excluded.value

-- name: extend_leases
-- Grace for instances.
update {schema}.instance as i set expires_at = greatest(i.expires_at, $1) + $2
from (select id from {schema}.instance where alive order by id for update) as living
where i.id = living.id and i.alive

-- name: restart_leases
-- Grace for instances after the clock was set: where it went back, a lease as it stands would go on for as much longer.
update {schema}.instance as i set expires_at = $1::float8 + $2::float8
from (select id from {schema}.instance where alive order by id for update) as living
where i.id = living.id and i.alive

-- name: grace
-- How far the grace is that is being given; nobody else gives of it before this transaction ends.
select value from {schema}.meta where key = 'grace' for update

-- name: write_grace
-- It is this far.
insert into {schema}.meta (key, value) values ('grace', $1) on conflict (key) do update set value = excluded.value

-- name: end_grace
-- All have it.
delete from {schema}.meta where key = 'grace'

-- name: held
-- The next tasks that have owners, behind a place: each with its own place, and its uid.
select locked_by, uid, uid from {schema}.task
where locked_by is not null and (locked_by, uid) > ($1, $2) order by locked_by, uid limit $3

-- name: extend_tasks
-- Grace for what their owners do now; tasks are locked before their steps, and by their uids.
update {schema}.task as t set complete_by = greatest(t.complete_by, $1) + $2
from (select uid from {schema}.task where uid = any($3::text[]) order by uid for update) as held
where t.uid = held.uid and case when t.locked_by is not null then true end and t.complete_by is not null

-- name: extend_steps
-- Grace for the running steps of these tasks; a task without an owner has nobody to have been kept from it.
update {schema}.step as s set complete_by = greatest(s.complete_by, $1) + $2
from {schema}.task as t
cross join lateral (
    select task, run, key from {schema}.step
    where task = t.uid and state = 'running' and complete_by is not null offset 0) as r
where t.uid = any($3::text[]) and case when t.locked_by is not null then true end
    and s.task = r.task and s.run = r.run and s.key = r.key

-- name: restart_deadlines
-- Grace for some of the tasks that are past their own deadline since the clock was set.
update {schema}.task as t set deadline = $2
from (select uid from {schema}.task where uid = any(array(
        select uid from {schema}.task
        where deadline is not null and finished_at is null and state <> 'undoing' and deadline <= $1
        order by deadline limit $3))
    order by uid for update) as late
where t.uid = late.uid
