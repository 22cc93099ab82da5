-- name: insert
-- Inserts an instance.
insert into {schema}.instance
    (id, role, host, pid, serves, started_at, expires_at, alive, capacity, renewed_at, health, digests, ahead)
values ($1, $2, $3, $4, $5, $6, $7, true, $8, $6, $9, $10, $11)

-- name: await_leader
-- Waits for a Supervisor that is about to report a workflow as unserved, so that its alert is seen below.
select 1 from {schema}.leadership for update

-- name: serve
-- Acknowledges the alerts of workflows or Agents that an instance now serves, and returns their numbers.
update {schema}.alert set acknowledged_at = $1, acknowledged_by = $2,
    resolved_at = $1, delivered_at = null, next_try = $1
where acknowledged_at is null and kind = 'unserved'
    and coalesce(
        convert_from(details, 'UTF8')::json ->> 'agent',
        (convert_from(details, 'UTF8')::json ->> 'workflow') || '@' || (convert_from(details, 'UTF8')::json ->> 'version')
    ) = any($3::text[])
returning number

-- name: try_again
-- Makes up to $4 tasks claimable that wait for code which matches their record, among those that a new Scheduler
-- serves.
update {schema}.task as t set state = 'pending', wake_at = null
from (
    select uid from {schema}.task
    where {waking} and state = 'waiting' and wake_at <= $1 and waits_for = $2
        and workflow || '@' || version = any($3::text[])
    order by uid limit $4 for update) as mine
where t.uid = mine.uid

-- name: renew
-- Extends leases and writes the reports that came with them; returns the server's clock. The first to renew
-- after all leases have lapsed records it, for the Supervisor's grace.
update {schema}.instance as me
set silent_at = case
        when me.expires_at < $2 and not exists (
            select 1 from {schema}.instance as other
            where other.alive and other.started_at < me.expires_at and other.renewed_at >= me.expires_at)
        then $2 else me.silent_at end,
    renewed_at = $2, expires_at = $2 + $3,
    health = coalesce(mine.said_health, me.health), demand = coalesce(mine.said_demand, me.demand),
    waits = coalesce(mine.said_waits, me.waits), ahead = coalesce($6::float8, me.ahead)
from (select i.id, said.health as said_health, said.demand as said_demand, said.waits as said_waits
    from unnest($1::text[], $4::text[], $5::text[], $7::text[]) as said (id, health, demand, waits)
    join {schema}.instance as i on i.id = said.id
    where i.alive order by i.id for update of i) as mine
where me.id = mine.id and me.alive
returning me.id, extract(epoch from clock_timestamp())::float8

-- name: drain
-- Records that the process of a live instance is to end in good order.
update {schema}.instance set drain_at = $2 where id = $1 and alive and drain_at is null

-- name: draining
-- Returns those of the instances whose process is asked to end in good order.
select id from {schema}.instance where id = any($1::text[]) and drain_at is not null

-- name: retire
-- Declares an instance dead that stops; $3: in good order. Returns its role.
update {schema}.instance set alive = false, dead_at = $2, ended = $3 where id = $1 and alive returning role
