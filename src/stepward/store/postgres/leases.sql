-- name: insert
-- A new instance.
insert into {schema}.instance
    (id, role, host, pid, serves, started_at, expires_at, alive, capacity, renewed_at, health, digests, ahead)
values ($1, $2, $3, $4, $5, $6, $7, true, $8, $6, $9, $10, $11)

-- name: await_leader
-- A Supervisor that has just found that nobody serves a workflow says so before somebody does.
select 1 from {schema}.leadership for update

-- name: serve
-- Alerts of workflows or Agents that nobody served until now: they are seen to.
update {schema}.alert set acknowledged_at = $1, acknowledged_by = $2
where acknowledged_at is null and kind = 'unserved'
    and coalesce(
        convert_from(details, 'UTF8')::json ->> 'agent',
        (convert_from(details, 'UTF8')::json ->> 'workflow') || '@' || (convert_from(details, 'UTF8')::json ->> 'version')
    ) = any($3::text[])
returning number

-- name: try_again
-- Tasks that wait for code that fits their record: $4 of those that a new Scheduler serves are claimable at once.
update {schema}.task as t set state = 'pending', wake_at = null
from (
    select uid from {schema}.task
    where {waking} and state = 'waiting' and wake_at <= $1 and waits_for = $2
        and workflow || '@' || version = any($3::text[])
    order by uid limit $4 for update) as mine
where t.uid = mine.uid

-- name: renew
-- Extend leases, and keep what was said with it; the first to renew after everybody's silence notes it, for the
-- Supervisor's grace. The server's clock comes with the answer.
update {schema}.instance as me
set silent_at = case
        when me.expires_at < $2 and not exists (
            select 1 from {schema}.instance as other
            where other.alive and other.started_at < me.expires_at and other.renewed_at >= me.expires_at)
        then $2 else me.silent_at end,
    renewed_at = $2, expires_at = $2 + $3,
    health = coalesce(mine.said_health, me.health), demand = coalesce(mine.said_demand, me.demand),
    ahead = coalesce($6::float8, me.ahead)
from (select i.id, said.health as said_health, said.demand as said_demand
    from unnest($1::text[], $4::text[], $5::text[]) as said (id, health, demand)
    join {schema}.instance as i on i.id = said.id
    where i.alive order by i.id for update of i) as mine
where me.id = mine.id and me.alive
returning me.id, extract(epoch from clock_timestamp())::float8

-- name: retire
-- Dead by its own wish; $3: in good order. Its role.
update {schema}.instance set alive = false, dead_at = $2, ended = $3 where id = $1 and alive returning role

-- name: lock_held
-- Hold what the instance held until the transaction ends: whoever was just putting a row into an inbox has done so.
select uid from {schema}.task where locked_by = $1 order by uid for update

-- name: give_back
-- What the instance held is free at once, and nothing is counted as a failure; who waits, waits on. The tasks are locked
-- by now: an inbox row that came meanwhile is seen by this statement, and could not be by one that waited for its task.
update {schema}.task as t
set locked_by = null, complete_by = case when t.state = 'waiting' then t.complete_by end,
    wake_at = case when t.state <> 'waiting' then null
        when (select i.number from {schema}.inbox as i where i.task = t.uid limit 1) is not null then $2 else t.wake_at end,
    waits_for = case when t.state = 'waiting' then t.waits_for end,
    state = case when t.state in ('undoing', 'suspended', 'waiting') then t.state else 'pending' end
where t.locked_by = $1
