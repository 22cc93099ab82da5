-- name: know
-- Records the names of Agents that an instance serves; names that exist are left as they are.
insert into stepward_agent (name) select value from json_each(?1) where true on conflict do nothing

-- name: standings
-- Returns all Agents, by name.
select {agent} from stepward_agent order by name

-- name: open
-- Opens the breaker for ?4 seconds. While it is open, only the instance that probes may extend it: failures that others
-- report belong to calls made before.
update stepward_agent set opened_at = coalesce(opened_at, ?3), asks_at = ?3 + ?4, probe_by = null
where name = ?1 and (opened_at is null or probe_by = ?2)
    and exists (select 1 from stepward_instance as i where i.id = ?2 and i.alive = 1)

-- name: probe
-- Lets one instance probe the service, for ?4 seconds.
update stepward_agent set probe_by = ?2, asks_at = ?3 + ?4
where name = ?1 and opened_at is not null and asks_at <= ?3
    and exists (select 1 from stepward_instance as i where i.id = ?2 and i.alive = 1)

-- name: close
-- Closes the breaker after a successful probe of this instance.
update stepward_agent set opened_at = null, asks_at = null, probe_by = null
where name = ?1 and probe_by = ?2
    and exists (select 1 from stepward_instance as i where i.id = ?2 and i.alive = 1)

-- name: suspend
-- Suspends an Agent: it gets no window until it is resumed.
update stepward_agent set suspended_at = ?2, suspended_by = ?3, note = ?4 where name = ?1 and suspended_at is null

-- name: end_suspension
-- Ends the suspension of an Agent.
update stepward_agent set suspended_at = null, suspended_by = null, note = null
where name = ?1 and suspended_at is not null

-- name: prober
-- Returns an instance with a live lease that may probe. Instances of programs in other languages have process 0 and do
-- not reach the store.
select i.id from stepward_instance as i
where i.alive = 1 and i.expires_at > ?2 and i.role = 'agent' and i.pid > 0 and exists (select 1 from json_each(i.serves) as s where s.value = ?1) limit 1

-- name: reset_breaker
-- Closes the breaker without a probe.
update stepward_agent set opened_at = null, asks_at = null, probe_by = null where name = ?1 and opened_at is not null
