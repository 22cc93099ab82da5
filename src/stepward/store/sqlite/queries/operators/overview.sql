-- name: listed
-- Returns how many tasks are in a state, up to a bound, and the oldest of them.
select count(*), min(uid) from (
    select uid from stepward_task indexed by stepward_task_listed
    where state <> 'processing' and state <> 'processed' and state <> 'undone' and state <> 'cancelled' and state = ?1
    order by created_at, uid limit ?2)

-- name: processing
-- Returns the same for the state processing, by the index of owners.
select count(*), min(uid) from (
    select uid from stepward_task indexed by stepward_task_held
    where locked_by is not null and state = 'processing' limit ?1)

-- name: late
-- Returns how many live tasks have used a given share of the time until their deadline, among those with the earliest
-- deadlines.
select coalesce(sum(?1 - created_at > ?2 * (deadline - created_at)), 0) from (
    select created_at, deadline from stepward_task indexed by stepward_task_deadline
    where deadline is not null and finished_at is null and state <> 'undoing' order by deadline limit ?3)

-- name: submitted
-- Returns the number of tasks submitted in each bucket of some seconds since an instant, among the newest tasks, up to
-- a bound.
select cast((created_at - ?1) / ?2 as integer) as bucket, 'submitted', count(*) from (
    select created_at from stepward_task indexed by stepward_task_by_created
    where created_at >= ?1 order by created_at desc limit ?3)
group by bucket

-- name: ended
-- Returns the number of tasks that ended in each bucket, by final state; tasks in error are not counted.
select cast((finished_at - ?1) / ?2 as integer) as bucket, state, count(*) from (
    select finished_at, state from stepward_task indexed by stepward_task_finished
    where finished_at is not null and state <> 'error' and finished_at >= ?1 order by finished_at desc limit ?3)
group by bucket, state

-- name: failed
-- Returns the number of tasks that ended in error in each bucket, among the newest of them.
select cast((finished_at - ?1) / ?2 as integer) as bucket, 'error', count(*) from (
    select finished_at from stepward_task indexed by stepward_task_listed
    where state <> 'processing' and state <> 'processed' and state <> 'undone' and state <> 'cancelled'
        and state = 'error' order by created_at desc, uid desc limit ?3)
where finished_at >= ?1 group by bucket

-- name: attempts
-- Returns the attempts at Agents of the newest tasks from a uid on, up to bounds of tasks and of their steps.
select agent, state, attempt, started_at, finished_at, deferred_at from (
    select s.agent, s.state, s.attempt, s.started_at, s.finished_at, s.deferred_at
    from (select uid, run from stepward_task where uid >= ?1 order by uid desc limit ?2) as q
    cross join stepward_step as s
    where s.task = q.uid and s.run = q.run limit ?3) as s
where agent is not null and attempt > 0

-- name: queues
-- Returns the first 100 queues of the store with their messages, counted up to a bound.
with recursive
queues (queue) as (
    select min(queue) from stepward_message
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue)
    from queues as q where q.queue is not null
    limit 100)
select queue, (select count(*) from (select 1 from stepward_message as m where m.queue = queues.queue limit ?1))
from queues where queue is not null order by queue

-- name: leader
-- Returns the leading Supervisor.
select instance, expires_at from stepward_leadership

-- name: open_alerts
-- Returns how many alerts are open, up to a bound.
select count(*) from (select 1 from stepward_alert where acknowledged_at is null limit ?1)

-- name: dead_letters
-- Returns how many dead letters there are, up to a bound.
select count(*) from (select 1 from stepward_dead_letter limit ?1)

-- name: changes_end
-- Returns the numbers of the newest alert and the newest act of the audit.
select (select coalesce(max(number), 0) from stepward_alert), (select coalesce(max(number), 0) from stepward_audit)

-- name: changes
-- Returns tasks that were submitted or ended from an instant on, and those of alerts and acts after a number: of each kind
-- the oldest, up to a limit.
select 'submitted', uid from (
    select uid from stepward_task indexed by stepward_task_by_created
    where created_at >= ?1 order by created_at, uid limit ?4)
union all
select 'ended', uid from (
    select uid from stepward_task indexed by stepward_task_finished
    where finished_at is not null and state <> 'error' and finished_at >= ?1 order by finished_at limit ?4)
union all
select 'alert', task from (
    select task from stepward_alert where number > ?2 and task is not null order by number limit ?4)
union all
select 'act', task from (
    select task from stepward_audit where number > ?3 and task is not null and after is not null
    order by number limit ?4)

-- name: changed_tasks
-- Returns the tasks of some uids (a JSON array), without their payloads.
select {t_listed} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value

-- name: decided
-- Returns by bucket of so many seconds since an instant how many attempts the Supervisor decided on, among the newest acts.
select cast((at - ?1) / ?2 as integer) as bucket, 'decided', count(*) from (
    select at, actor, act, step from stepward_audit order by number desc limit ?3)
where at >= ?1 and actor like 'supervisor/%' and step is not null and act in ('repeat', 'fail', 'undo', 'raise')
group by bucket

-- name: sample
-- Records a sample of the counts of live tasks.
insert into stepward_state_sample (at, counts) values (?1, ?2) on conflict do nothing

-- name: forget_samples
-- Deletes the samples before an instant, and those after now.
delete from stepward_state_sample where at < ?1 or at >= ?2

-- name: samples
-- Returns the first sample of each bucket of some seconds since an instant.
select min(at), counts from stepward_state_sample
where at >= ?1 and at <= ?3 group by cast((at - ?1) / ?2 as integer) order by 1
