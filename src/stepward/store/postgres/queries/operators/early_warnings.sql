-- name: late_tasks
-- Returns the live tasks, among those with the earliest deadlines, that have used a share of the time until a deadline of
-- some seconds or more.
select workflow, version, id from (
    select workflow, version, id, created_at, deadline from {schema}.task
    where deadline is not null and finished_at is null and state <> 'undoing' order by deadline limit $4) as t
where deadline - created_at >= $3 and $1 - created_at > $2 * (deadline - created_at)
order by deadline

-- name: heads
-- Returns the oldest message that was never taken of each queue, at most 100, but for the queues of replies.
with recursive queues (queue) as (
    (select queue from {schema}.message order by queue, taken_until, token limit 1)
    union all
    select n.queue from queues as q cross join lateral (
        select queue from {schema}.message where queue > q.queue order by queue, taken_until, token limit 1) as n),
some_queues (queue) as (select queue from queues limit 100)
select queue, token from (
    select queue, (
        select token from {schema}.message as m where m.queue = some_queues.queue and m.taken_until <= 0
        order by m.taken_until, m.token limit 1) as token
    from some_queues where queue not like 'replies.%') as heads
where token is not null order by queue

-- name: newest_token
-- Returns the token of the newest message.
select coalesce(max(token), 0) from {schema}.message

-- name: waiting
-- Returns the task of each workflow that is claimed next, if it was created before an instant and never started.
with recursive {first_claimable}
select t.workflow, t.version, t.id, t.created_at
from first as f cross join lateral (select * from {schema}.task where uid = f.uid) as t
where t.created_at <= $1 and t.started_at is null order by t.workflow, t.version

-- name: late_leases
-- Returns the live instances that have used a share of a lease of some seconds or more without renewing it.
select {instance} from {schema}.instance
where alive and expires_at - renewed_at >= $3 and $1 - renewed_at > $2 * (expires_at - renewed_at)
order by id
