-- name: know
-- Agents that somebody serves are known from then on.
insert into {schema}.agent (name) select name from unnest($1::text[]) as served (name) order by name on conflict do nothing

-- name: standings
-- All Agents, by name.
select {agent} from {schema}.agent order by name

-- name: open
-- Nothing passes for $4 seconds. While it is open already only who probes is heard: others speak of calls from before.
update {schema}.agent set opened_at = coalesce(opened_at, $3), asks_at = $3::float8 + $4::float8, probe_by = null
where name = $1 and (opened_at is null or probe_by = $2)
    and exists (select 1 from {schema}.instance as i where i.id = $2 and i.alive)

-- name: probe
-- One instance may find out, for $4 seconds.
update {schema}.agent set probe_by = $2, asks_at = $3::float8 + $4::float8
where name = $1 and opened_at is not null and asks_at <= $3
    and exists (select 1 from {schema}.instance as i where i.id = $2 and i.alive)

-- name: close
-- Who probes has found the service back.
update {schema}.agent set opened_at = null, asks_at = null, probe_by = null
where name = $1 and probe_by = $2
    and exists (select 1 from {schema}.instance as i where i.id = $2 and i.alive)

-- name: suspend
-- Given no room until it is resumed.
update {schema}.agent set suspended_at = $2, suspended_by = $3, note = $4 where name = $1 and suspended_at is null

-- name: end_suspension
-- Given room again.
update {schema}.agent set suspended_at = null, suspended_by = null, note = null
where name = $1 and suspended_at is not null

-- name: prober
-- An instance whose lease runs and that may probe; those of other programs, which have process 0, reach no store.
select i.id from {schema}.instance as i
where i.alive and i.expires_at > $2 and i.role = 'agent' and i.pid > 0 and i.serves::jsonb ? $1::text limit 1

-- name: reset_breaker
-- Closed without a probe.
update {schema}.agent set opened_at = null, asks_at = null, probe_by = null where name = $1 and opened_at is not null
