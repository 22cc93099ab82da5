-- name: know
-- Records the names of Agents that an instance serves; names that exist are left as they are.
insert into {schema}.agent (name) select name from unnest($1::text[]) as served (name) order by name on conflict do nothing

-- name: standings
-- Returns all Agents, by name.
select {agent} from {schema}.agent order by name

-- name: open
-- Opens the breaker for $4 seconds. While it is open, only the instance that probes may extend it: failures that others
-- report belong to calls made before.
update {schema}.agent set opened_at = coalesce(opened_at, $3), asks_at = $3::float8 + $4::float8, probe_by = null
where name = $1 and (opened_at is null or probe_by = $2)
    and exists (select 1 from {schema}.instance as i where i.id = $2 and i.alive)

-- name: probe
-- Lets one instance probe the service, for $4 seconds.
update {schema}.agent set probe_by = $2, asks_at = $3::float8 + $4::float8
where name = $1 and opened_at is not null and asks_at <= $3
    and exists (select 1 from {schema}.instance as i where i.id = $2 and i.alive)

-- name: close
-- Closes the breaker after a successful probe of this instance.
update {schema}.agent set opened_at = null, asks_at = null, probe_by = null
where name = $1 and probe_by = $2
    and exists (select 1 from {schema}.instance as i where i.id = $2 and i.alive)

-- name: suspend
-- Suspends an Agent: it gets no window until it is resumed.
update {schema}.agent set suspended_at = $2, suspended_by = $3, note = $4 where name = $1 and suspended_at is null

-- name: end_suspension
-- Ends the suspension of an Agent.
update {schema}.agent set suspended_at = null, suspended_by = null, note = null
where name = $1 and suspended_at is not null

-- name: prober
-- Returns an instance with a live lease that may probe. Instances of programs in other languages have process 0 and do
-- not reach the store.
select i.id from {schema}.instance as i
where i.alive and i.expires_at > $2 and i.role = 'agent' and i.pid > 0 and i.serves::jsonb ? $1::text limit 1

-- name: reset_breaker
-- Closes the breaker without a probe.
update {schema}.agent set opened_at = null, asks_at = null, probe_by = null where name = $1 and opened_at is not null
