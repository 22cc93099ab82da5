-- name: due
-- Returns the work that a pass has to do; each count stops at ?2.
select
    (select count(*) from stepward_instance where alive = 1 and expires_at <= ?1),
    (select count(*) from (
        select 1 from stepward_instance as i cross join stepward_task as t on t.locked_by = i.id
        where i.alive = 0 limit ?2)),
    (select count(*) from (
        select 1 from stepward_step where watched = 1 and state = 'running' and complete_by <= ?1 limit ?2)),
    (select count(*) from (
        select 1 from stepward_task
        where deadline is not null and finished_at is null and state <> 'undoing' and deadline <= ?1 limit ?2)),
    (with recursive {first_claimable}
        select count(*) from first
        cross join stepward_task as t on t.rowid = first.id
        where not {served} and not {alerted})
    + (select count(*) from (select 1 from stepward_task where {waking} and wake_at <= ?3 limit 1)),
    (select count(*) from (
        select 1 from stepward_alert where delivered_at is null and next_try <= ?1 limit ?2)),
    (select count(*) from stepward_schedule where paused_at is null and next_at is not null and next_at <= ?1),
    (select count(*) from stepward_meta where key = 'grace'),
    (select count(*) from stepward_batch where state = 'running'),
    (select count(*) from stepward_agent_slot as s
        where s.until <= ?1 and not exists (select 1 from stepward_instance as i where i.id = s.instance and i.alive = 1)),
    0.0

-- name: fence
-- Declares instances dead whose lease has run out.
update stepward_instance set alive = 0, dead_at = ?1 where alive = 1 and expires_at <= ?1 returning {instance}

-- name: forget_dead
-- Deletes instances that died before an instant and hold no tasks.
delete from stepward_instance
where dead_at < ?1 and not exists (select 1 from stepward_task where locked_by = stepward_instance.id)

-- name: free
-- Releases tasks of dead instances, with one more failure and recovery each.
update stepward_task
set locked_by = null, complete_by = null, wake_at = null,
    failure_count = failure_count + 1, recovery_count = recovery_count + 1,
    state = case when state in ('undoing', 'suspended') then state else 'pending' end
where rowid in (
    select t.rowid from stepward_instance as i cross join stepward_task as t on t.locked_by = i.id
    where i.alive = 0 limit ?1)
returning uid, recovery_count

-- name: expired_steps
-- Returns the first ?4 watched running steps past their complete-by after a position; only those of live owners come
-- with what the judge needs.
select s.complete_by, s.id, s.task, t.id, s.run, s.key, s.attempt, s.failure_count, s.kind, s.complete_by, t.state,
    t.workflow, t.version, w.policy, s.error
from (
    select rowid as id, * from (
        select rowid, * from stepward_step indexed by stepward_step_watched
        where watched = 1 and state = 'running' and complete_by = ?2 and rowid > ?3 order by rowid limit ?4)
    union all
    select rowid as id, * from (
        select rowid, * from stepward_step indexed by stepward_step_watched
        where watched = 1 and state = 'running' and complete_by > ?2 and complete_by <= ?1
        order by complete_by, rowid limit ?4)
    limit ?4) as s
left join stepward_task as t on t.uid = s.task and t.state in ('processing', 'waiting', 'undoing')
    and exists (select 1 from stepward_instance where id = t.locked_by and alive = 1)
left join stepward_workflow as w on w.name = t.workflow and w.version = t.version
order by s.complete_by, s.id

-- name: decide
-- Records the decision on an attempt; a step that is in doubt stays so.
update stepward_step
set state = ?5, repeat_at = ?6, in_doubt = max(in_doubt, ?8), error = coalesce(?7, error),
    failure_count = failure_count + 1, watched = 0,
    finished_at = case ?5 when 'failed' then ?9 end
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 and state = 'running'

-- name: count_failures
-- Adds expired attempts to the failure counts of tasks.
update stepward_task set failure_count = failure_count + ?2 where uid = ?1

-- name: expired_tasks
-- Returns tasks past their deadline; clear_deadline removes it.
select t.uid, t.id, t.state, t.deadline, w.policy, t.failure_count,
    min(coalesce(w.complete_seconds, t.deadline - t.created_at), t.deadline - t.created_at)
from stepward_task as t indexed by stepward_task_deadline
left join stepward_workflow as w on w.name = t.workflow and w.version = t.version
where t.deadline is not null and t.finished_at is null and t.state <> 'undoing' and t.deadline <= ?1
order by t.deadline limit ?2

-- name: clear_deadline
-- Clears or replaces a deadline that has passed, so that it is reported once; a new one counts one more failure.
update stepward_task set deadline = ?2, failure_count = failure_count + (?2 is not null)
where uid = ?1 and deadline <= ?3 and finished_at is null and state <> 'undoing'

-- name: unserved
-- Returns workflows that have had claimable tasks since ?1 or longer, no Scheduler that lived at ?1, and no open alert.
with recursive {first_claimable}
select t.workflow, t.version from first cross join stepward_task as t on t.rowid = first.id
where t.created_at <= ?1 and not {served_since} and not {alerted}

-- name: schedulers
-- Returns the live Schedulers.
select {instance} from stepward_instance where alive = 1 and role = 'scheduler' order by started_at, id

-- name: is_open
-- Returns whether an alert of that kind is open.
select 1 from stepward_alert where acknowledged_at is null and kind = ?1

-- name: resolve_alert
-- Acknowledges the open alerts of a kind whose cause is gone, and returns their numbers.
update stepward_alert set acknowledged_at = ?2, acknowledged_by = ?3,
    resolved_at = ?2, delivered_at = null, next_try = ?2
where acknowledged_at is null and kind = ?1 returning number
