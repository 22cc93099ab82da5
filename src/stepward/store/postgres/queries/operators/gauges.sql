-- name: read
-- Returns what metrics show of the store, as rows of kind, name and value; each count stops at $2. Tasks that have
-- ended are not counted: there may be millions.
with recursive
live (state) as (values ('pending'), ('waiting'), ('suspended'), ('undoing'), ('error')),
queues (queue) as (
    (select queue from {schema}.message order by queue, taken_until, token limit 1)
    union all
    select n.queue from queues as q cross join lateral (
        select queue from {schema}.message where queue > q.queue order by queue, taken_until, token limit 1) as n),
some_queues (queue) as (select queue from queues limit 100)
select 'tasks', state, (
    select count(*) from (
        select 1 from {schema}.task as t
        where t.state = live.state and t.state not in ('processing', 'processed', 'undone', 'cancelled')
        limit $2) as c)::float8
from live
union all
select 'tasks', 'processing', (
    select count(*) from (
        select 1 from {schema}.task where locked_by is not null and state = 'processing' limit $2) as c)::float8
union all
select 'oldest_task', state, (
    select t.created_at from {schema}.task as t
    where t.state = live.state and t.state not in ('processing', 'processed', 'undone', 'cancelled')
    order by t.created_at, t.uid limit 1)::float8
from live
union all
select 'alerts', kind, count(*)::float8
from (select kind from {schema}.alert where acknowledged_at is null order by number limit $2) as a group by kind
union all
select 'dead_letters', '', (select count(*) from (select 1 from {schema}.dead_letter limit $2) as c)::float8
union all
select 'expired_steps', '', (
    select count(*) from (
        select 1 from {schema}.step where watched and state = 'running' and complete_by <= $1 limit $2) as c)::float8
union all
select 'queue', queue, (
    select count(*) from (select 1 from {schema}.message as m where m.queue = q.queue limit $2) as c)::float8
from some_queues as q
union all
select 'request', agent, min(started_at)
from (
    select agent, started_at from {schema}.step
    where watched and state = 'running' and agent is not null order by complete_by limit 10000) as s
group by agent
union all
select 'leader', instance, 1.0::float8 from {schema}.leadership where expires_at > $1
union all
select 'schema_version', '', value::float8 from {schema}.meta where key = 'schema_version'

-- name: heads
-- Returns the next message of each of the first 100 queues, with its body if that is no longer than $1 bytes.
with recursive
queues (queue, token) as (
    (select queue, token from {schema}.message order by queue, taken_until, token limit 1)
    union all
    select n.queue, n.token from queues as q cross join lateral (
        select queue, token from {schema}.message where queue > q.queue
        order by queue, taken_until, token limit 1) as n),
some_queues (queue, token) as (select queue, token from queues limit 100)
select q.queue, (
    select case when octet_length(m.body) <= $1 then m.body end from {schema}.message as m where m.token = q.token)
from some_queues as q
