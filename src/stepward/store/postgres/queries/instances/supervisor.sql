-- name: due
-- Returns the work that a pass has to do, and the server's clock; each count stops at $2.
select
    (select count(*) from {schema}.instance where alive and expires_at <= $1),
    (select count(*) from (
        select 1 from {schema}.instance as i
        cross join lateral (select 1 from {schema}.task where locked_by = i.id limit $2) as t
        where not i.alive limit $2) as held),
    (select count(*) from (
        select 1 from {schema}.step where watched and complete_by <= $1 limit $2) as expired),
    (select count(*) from (
        select 1 from {schema}.task
        where deadline is not null and finished_at is null and state <> 'undoing' and deadline <= $1
        limit $2) as late),
    (with recursive {first_claimable}
        select count(*) from first as t where not {served} and not {alerted})
    + (select count(*) from (select 1 from {schema}.task where {waking} and wake_at <= $3 limit 1) as asleep),
    (select count(*) from (
        select 1 from {schema}.alert where delivered_at is null and next_try <= $1 limit $2) as undelivered),
    (select count(*) from {schema}.schedule where paused_at is null and next_at is not null and next_at <= $1),
    (select count(*) from {schema}.meta where key = 'grace'),
    (select count(*) from {schema}.batch where state = 'running'),
    (select count(*) from {schema}.agent_slot as s
        where s.until <= $1 and not exists (select 1 from {schema}.instance as i where i.id = s.instance and i.alive)),
    extract(epoch from clock_timestamp())::float8

-- name: end_stalled
-- Terminates sessions of this schema's processes that stall between parsing and running a statement for longer than any
-- statement may take: no timeout of the server applies there, and their row locks stay. Of the sessions that
-- applications share, only those with a statement of Stepward are terminated, because a COPY also waits for its client.
-- Sessions that wait as long for a row or for the audit chain are terminated too: a server whose clock was set back has
-- lost their timeouts and its deadlock checks. Sessions that create indexes wait for tables and transactions, and are
-- left alone.
select pg_terminate_backend(a.pid) from pg_stat_activity as a
where a.datname = current_database()
    and (pg_has_role(a.usesysid, 'usage') or pg_has_role('pg_signal_backend', 'usage')
        and not (select rolsuper from pg_roles where oid = a.usesysid))
    and a.state = 'active' and a.state_change < clock_timestamp() - make_interval(secs => $1::float8)
    and (a.wait_event = 'ClientRead' and (a.application_name = $2 or (a.application_name = $3
            and position($4 in a.query) > 0
            and not exists (select 1 from pg_stat_progress_copy as p where p.pid = a.pid)))
        or a.wait_event in ('transactionid', 'tuple', 'advisory') and a.application_name = $2)
    and exists (select 1 from pg_locks as l
        join pg_class as c on c.oid = l.relation join pg_namespace as n on n.oid = c.relnamespace
        where l.pid = a.pid and l.granted and l.locktype = 'relation' and n.nspname = $5
            and l.database = (select oid from pg_database where datname = current_database()))

-- name: fence
-- Declares instances dead whose lease has run out.
update {schema}.instance as i set alive = false, dead_at = $1
from (select id from {schema}.instance where alive and expires_at <= $1 order by id for update) as silent
where i.id = silent.id and i.alive and i.expires_at <= $1
returning {i_instance}

-- name: forget_dead
-- Deletes instances that died before an instant and hold no tasks.
delete from {schema}.instance as i
where i.dead_at < $1 and not exists (select 1 from {schema}.task as t where t.locked_by = i.id)

-- name: free
-- Releases tasks of dead instances, with one more failure and recovery each; rows that other transactions have locked
-- are skipped.
with held as materialized (
    select t.uid from {schema}.instance as i cross join lateral (
        select uid from {schema}.task where locked_by = i.id order by uid limit $1 for update skip locked) as t
    where not i.alive limit $1)
update {schema}.task as t
set locked_by = null, complete_by = null, wake_at = null,
    failure_count = t.failure_count + 1, recovery_count = t.recovery_count + 1,
    state = case when t.state in ('undoing', 'suspended') then t.state else 'pending' end
from held where t.uid = held.uid
returning t.uid, t.recovery_count

-- name: expired_steps
-- Returns the first $6 watched running steps past their complete-by after a position; only those of live owners come
-- with what the judge needs. The offset makes the planner look up each step's task.
select s.complete_by, s.task, s.run, s.key, s.task, t.id, s.run, s.key, s.attempt, s.failure_count, s.kind, s.complete_by,
    t.state, t.workflow, t.version, w.policy, s.error
from (
    select * from {schema}.step
    where watched and complete_by <= $1 and (complete_by, task, run, key) > ($2, $3, $4, $5)
    order by complete_by, task, run, key limit $6) as s
left join lateral (
    select own.* from (select * from {schema}.task where uid = s.task offset 0) as own
    where s.state = 'running' and own.state in ('processing', 'waiting', 'undoing')
        and exists (select 1 from {schema}.instance where id = own.locked_by and alive)) as t on true
left join {schema}.workflow as w on w.name = t.workflow and w.version = t.version
order by s.complete_by, s.task, s.run, s.key

-- name: decide
-- Records the decision on each attempt, and returns the places of those that applied; a step that is in doubt stays so.
update {schema}.step as s
set state = v.state, repeat_at = v.repeat_at, in_doubt = s.in_doubt or v.in_doubt, error = coalesce(v.error, s.error),
    failure_count = s.failure_count + 1, watched = false,
    finished_at = case v.state when 'failed' then $9::float8 end
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::text[], $6::float8[], $7::bytea[],
    $8::boolean[]) with ordinality
    as v (task, run, key, attempt, state, repeat_at, error, in_doubt, place)
where s.task = v.task and s.run = v.run and s.key = v.key and s.attempt = v.attempt and s.state = 'running'
returning v.place

-- name: count_failures
-- Adds expired attempts to the failure counts of tasks.
update {schema}.task as t set failure_count = t.failure_count + v.count
from unnest($1::text[], $2::integer[]) as v (uid, count)
where t.uid = v.uid

-- name: expired_tasks
-- Returns tasks past their deadline; clear_deadline removes it.
select t.uid, t.id, t.state, t.deadline, w.policy, t.failure_count,
    least(w.complete_seconds, t.deadline - t.created_at)
from {schema}.task as t
left join {schema}.workflow as w on w.name = t.workflow and w.version = t.version
where t.deadline is not null and t.finished_at is null and t.state <> 'undoing' and t.deadline <= $1
order by t.deadline limit $2

-- name: clear_deadline
-- Clears or replaces deadlines that have passed, so that each is reported once, and returns the places of those that
-- applied; a new one counts one more failure.
update {schema}.task as t set deadline = v.deadline,
    failure_count = t.failure_count + case when v.deadline is null then 0 else 1 end
from unnest($1::text[], $2::float8[]) with ordinality as v (uid, deadline, place)
where t.uid = v.uid and t.deadline <= $3 and t.finished_at is null and t.state <> 'undoing'
returning v.place

-- name: unserved
-- Returns workflows that have had claimable tasks since $1 or longer, no Scheduler that lived at $1, and no open alert.
with recursive {first_claimable}
select t.workflow, t.version from first as t
where (select created_at from {schema}.task as f where f.uid = t.uid) <= $1 and not {served_since} and not {alerted}

-- name: schedulers
-- Returns the live Schedulers.
select {instance} from {schema}.instance where alive and role = 'scheduler' order by started_at, id

-- name: is_open
-- Returns whether an alert of that kind is open.
select 1 from {schema}.alert where acknowledged_at is null and kind = $1

-- name: resolve_alert
-- Acknowledges the open alerts of a kind whose cause is gone, and returns their numbers.
update {schema}.alert set acknowledged_at = $2, acknowledged_by = $3,
    resolved_at = $2, delivered_at = null, next_try = $2
where acknowledged_at is null and kind = $1 returning number
