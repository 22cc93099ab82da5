-- name: listed
-- Returns how many tasks are in a state, up to a bound, and the oldest of them.
select count(*), min(uid) from (
    select uid from {schema}.task
    where state not in ('processing', 'processed', 'undone', 'cancelled') and state = $1
    order by created_at, uid limit $2) as listed

-- name: processing
-- Returns the same for the state processing, by the index of owners.
select count(*), min(uid) from (
    select uid from {schema}.task where locked_by is not null and state = 'processing' limit $1) as held

-- name: late
-- Returns how many live tasks have used a given share of the time until their deadline, among those with the earliest
-- deadlines.
select coalesce(count(*) filter (where $1::float8 - created_at > $2::float8 * (deadline - created_at)), 0) from (
    select created_at, deadline from {schema}.task
    where deadline is not null and finished_at is null and state <> 'undoing' order by deadline limit $3) as due

-- name: submitted
-- Returns the number of tasks submitted in each bucket of some seconds since an instant, among the newest tasks, up to
-- a bound.
select floor((created_at - $1::float8) / $2::float8)::int as bucket, 'submitted', count(*) from (
    select created_at from {schema}.task where created_at >= $1::float8 order by created_at desc limit $3) as newest
group by bucket

-- name: ended
-- Returns the number of tasks that ended in each bucket, by final state; tasks in error are not counted.
select floor((finished_at - $1::float8) / $2::float8)::int as bucket, state, count(*) from (
    select finished_at, state from {schema}.task
    where finished_at is not null and state <> 'error' and finished_at >= $1::float8
    order by finished_at desc limit $3) as newest
group by bucket, state

-- name: failed
-- Returns the number of tasks that ended in error in each bucket, among the newest of them.
select floor((finished_at - $1::float8) / $2::float8)::int as bucket, 'error', count(*) from (
    select finished_at from {schema}.task
    where state not in ('processing', 'processed', 'undone', 'cancelled') and state = 'error'
    order by created_at desc, uid desc limit $3) as newest
where finished_at >= $1::float8 group by bucket

-- name: attempts
-- Returns the attempts at Agents of the newest tasks from a uid on, up to bounds of tasks and of their steps.
select agent, state, attempt, started_at, finished_at, deferred_at from (
    select s.agent, s.state, s.attempt, s.started_at, s.finished_at, s.deferred_at
    from (select uid, run from {schema}.task where uid >= $1 order by uid desc limit $2) as q
    cross join {schema}.step as s
    where s.task = q.uid and s.run = q.run limit $3) as s
where agent is not null and attempt > 0

-- name: queues
-- Returns the first 100 queues of the store with their messages, counted up to a bound.
with recursive
queues (queue) as (
    (select queue from {schema}.message order by queue, taken_until, token limit 1)
    union all
    select n.queue from queues as q cross join lateral (
        select queue from {schema}.message where queue > q.queue order by queue, taken_until, token limit 1) as n),
some_queues (queue) as (select queue from queues limit 100)
select queue, (
    select count(*) from (select 1 from {schema}.message as m where m.queue = q.queue limit $1) as counted)
from some_queues as q order by queue

-- name: leader
-- Returns the leading Supervisor.
select instance, expires_at from {schema}.leadership

-- name: open_alerts
-- Returns how many alerts are open, up to a bound.
select count(*) from (select 1 from {schema}.alert where acknowledged_at is null limit $1) as seen

-- name: dead_letters
-- Returns how many dead letters there are, up to a bound.
select count(*) from (select 1 from {schema}.dead_letter limit $1) as kept

-- name: changes_end
-- Returns the numbers of the newest alert and the newest act of the audit.
select (select coalesce(max(number), 0) from {schema}.alert), (select coalesce(max(number), 0) from {schema}.audit)

-- name: changes
-- Returns tasks that were submitted or ended from an instant on, and those of alerts and acts after a number: of each kind
-- the oldest, up to a limit.
select 'submitted', uid from (
    select uid from {schema}.task where created_at >= $1::float8 order by created_at, uid limit $4) as submitted
union all
select 'ended', uid from (
    select uid from {schema}.task
    where finished_at is not null and state <> 'error' and finished_at >= $1::float8
    order by finished_at limit $4) as ended
union all
select 'alert', task from (
    select task from {schema}.alert where number > $2 and task is not null order by number limit $4) as alerted
union all
select 'act', task from (
    select task from {schema}.audit where number > $3 and task is not null and after is not null
    order by number limit $4) as acted

-- name: changed_tasks
-- Returns the tasks of some uids, without their payloads.
select {t_listed} from {schema}.task as t where t.uid = any($1::text[])

-- name: decided
-- Returns by bucket of so many seconds since an instant how many attempts the Supervisor decided on, among the newest acts.
select floor((at - $1::float8) / $2::float8)::int as bucket, 'decided', count(*) from (
    select at, actor, act, step from {schema}.audit order by number desc limit $3) as newest
where at >= $1::float8 and actor like 'supervisor/%' and step is not null and act in ('repeat', 'fail', 'undo', 'raise')
group by bucket

-- name: sample
-- Records a sample of the counts of live tasks.
insert into {schema}.state_sample (at, counts) values ($1, $2) on conflict do nothing

-- name: forget_samples
-- Deletes the samples before an instant, and those after now.
delete from {schema}.state_sample where at < $1 or at >= $2

-- name: samples
-- Returns the first sample of each bucket of some seconds since an instant.
select distinct on (floor((at - $1::float8) / $2::float8)) at, counts from {schema}.state_sample
where at >= $1::float8 and at <= $3::float8 order by floor((at - $1::float8) / $2::float8), at
