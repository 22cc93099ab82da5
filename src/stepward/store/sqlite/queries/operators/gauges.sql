-- name: read
-- Returns what metrics show of the store, as rows of kind, name and value; each count stops at ?2. Tasks that have
-- ended are not counted: there may be millions.
with recursive
live (state) as (values ('pending'), ('waiting'), ('suspended'), ('undoing'), ('error')),
queues (queue) as (
    select min(queue) from stepward_message
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue)
    from queues as q where q.queue is not null
    limit 100)
select 'tasks', state, (
    select count(*) from (
        select 1 from stepward_task as t indexed by stepward_task_listed
        where t.state = live.state and t.state <> 'processing' and t.state <> 'processed' and t.state <> 'undone'
            and t.state <> 'cancelled'
        limit ?2)) + 0.0
from live
union all
select 'tasks', 'processing', (
    select count(*) from (
        select 1 from stepward_task where locked_by is not null and state = 'processing' limit ?2)) + 0.0
union all
select 'oldest_task', state, (
    select t.created_at from stepward_task as t indexed by stepward_task_listed
    where t.state = live.state and t.state <> 'processing' and t.state <> 'processed' and t.state <> 'undone'
        and t.state <> 'cancelled'
    order by t.created_at, t.uid limit 1)
from live
union all
select 'alerts', kind, count(*) + 0.0
from (select kind from stepward_alert where acknowledged_at is null order by number limit ?2) group by kind
union all
select 'dead_letters', '', (select count(*) from (select 1 from stepward_dead_letter limit ?2)) + 0.0
union all
select 'expired_steps', '', (
    select count(*) from (
        select 1 from stepward_step where watched = 1 and state = 'running' and complete_by <= ?1 limit ?2)) + 0.0
union all
select 'queue', queue, (
    select count(*) from (select 1 from stepward_message as m where m.queue = queues.queue limit ?2)) + 0.0
from queues where queue is not null
union all
select 'request', agent, min(started_at)
from (
    select agent, started_at from stepward_step
    where watched = 1 and state = 'running' and agent is not null order by complete_by limit 10000)
group by agent
union all
select 'leader', instance, 1.0 from stepward_leadership where expires_at > ?1
union all
select 'schema_version', '', value + 0.0 from stepward_meta where key = 'schema_version'

-- name: heads
-- Returns the next message of each of the first 100 queues, with its body if that is no longer than ?1 bytes.
with recursive
queues (queue) as (
    select min(queue) from stepward_message
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue)
    from queues as q where q.queue is not null
    limit 100)
select queue, (
    select case when length(m.body) <= ?1 then m.body end from stepward_message as m
    where m.queue = queues.queue order by m.taken_until, m.token limit 1)
from queues where queue is not null
