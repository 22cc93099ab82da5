-- name: insert
-- Inserts an instance.
insert into stepward_instance
    (id, role, host, pid, serves, started_at, expires_at, alive, capacity, renewed_at, health, digests, ahead)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?6, ?9, ?10, ?11)

-- name: await_leader
-- Waits for nothing: the write transaction holds the whole file.
select 1 from stepward_leadership

-- name: serve
-- Acknowledges the alerts of workflows or Agents that an instance now serves, and returns their numbers.
update stepward_alert set acknowledged_at = ?1, acknowledged_by = ?2,
    resolved_at = ?1, delivered_at = null, next_try = ?1
where acknowledged_at is null and kind = 'unserved'
    and coalesce(
        json_extract(cast(details as text), '$.agent'),
        json_extract(cast(details as text), '$.workflow') || '@' || json_extract(cast(details as text), '$.version')
    ) in (select value from json_each(?3))
returning number

-- name: try_again
-- Makes up to ?4 tasks claimable that wait for code which matches their record, among those that a new Scheduler
-- serves.
update stepward_task set state = 'pending', wake_at = null
where rowid in (
    select rowid from stepward_task
    where {waking} and state = 'waiting' and wake_at <= ?1 and waits_for = ?2
        and workflow || '@' || version in (select value from json_each(?3))
    order by wake_at limit ?4)

-- name: renew
-- Extends leases and writes the reports that came with them. The first to renew after all leases have lapsed
-- records it, for the Supervisor's grace.
update stepward_instance as me
set silent_at = case
        when me.expires_at < ?2 and not exists (
            select 1 from stepward_instance as other
            where other.alive = 1 and other.started_at < me.expires_at and other.renewed_at >= me.expires_at)
        then ?2 else me.silent_at end,
    renewed_at = ?2, expires_at = ?2 + ?3,
    health = coalesce(said.health, me.health), demand = coalesce(said.demand, me.demand),
    waits = coalesce(said.waits, me.waits), ahead = coalesce(?6, me.ahead)
from (select i.value as id, h.value as health, d.value as demand, w.value as waits
    from json_each(?1) as i join json_each(?4) as h on h.key = i.key join json_each(?5) as d on d.key = i.key
    join json_each(?7) as w on w.key = i.key) as said
where me.id = said.id and me.alive = 1
returning id, ?2

-- name: drain
-- Records that the process of a live instance is to end in good order.
update stepward_instance set drain_at = ?2 where id = ?1 and alive = 1 and drain_at is null

-- name: draining
-- Returns those of the instances whose process is asked to end in good order.
select id from stepward_instance where id in (select value from json_each(?1)) and drain_at is not null

-- name: retire
-- Declares an instance dead that stops; ?3: in good order. Returns its role.
update stepward_instance set alive = 0, dead_at = ?2, ended = ?3 where id = ?1 and alive = 1 returning role
