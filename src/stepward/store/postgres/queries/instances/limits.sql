-- name: limits
-- Returns all limits, by name.
select {flow_limit} from {schema}.flow_limit order by name

-- name: locked
-- Returns a limit, and locks it until the transaction ends.
select {flow_limit} from {schema}.flow_limit where name = $1 for update

-- name: declare
-- Writes what code declares of a limit; what an operator has set stays.
insert into {schema}.flow_limit as kept (name, per_key, declared_concurrency, declared_starts, declared_seconds)
values ($1, $2, $3, $4, $5)
on conflict (name) do update set per_key = excluded.per_key, declared_concurrency = excluded.declared_concurrency,
    declared_starts = excluded.declared_starts, declared_seconds = excluded.declared_seconds
where (kept.declared_concurrency, kept.declared_starts, kept.declared_seconds, kept.per_key)
    is distinct from (excluded.declared_concurrency, excluded.declared_starts, excluded.declared_seconds, excluded.per_key)

-- name: undeclare
-- Removes what code declared of these limits.
update {schema}.flow_limit set declared_concurrency = null, declared_starts = null, declared_seconds = null
where name = any($1::text[])

-- name: set
-- Sets a limit in place of what is declared.
insert into {schema}.flow_limit (name, concurrency, starts, seconds, set_at, set_by, note)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (name) do update set concurrency = excluded.concurrency, starts = excluded.starts,
    seconds = excluded.seconds, set_at = excluded.set_at, set_by = excluded.set_by, note = excluded.note

-- name: reset
-- Lets what is declared hold again.
update {schema}.flow_limit
set concurrency = null, starts = null, seconds = null, set_at = null, set_by = null, note = null
where name = $1 and set_at is not null

-- name: forget_empty
-- Deletes limits that are neither declared nor set.
delete from {schema}.flow_limit where declared_concurrency is null and declared_starts is null and set_at is null

-- name: slots
-- Returns the slots of all instances, and whether each is alive.
select s.agent, s.instance, s.slots, s.wanted, s.most, s.until,
    exists (select 1 from {schema}.instance as i where i.id = s.instance and i.alive)
from {schema}.agent_slot as s order by s.agent, s.instance

-- name: slots_of
-- Returns the slots of the instances of an Agent, and whether each is alive.
select s.agent, s.instance, s.slots, s.wanted, s.most, s.until,
    exists (select 1 from {schema}.instance as i where i.id = s.instance and i.alive)
from {schema}.agent_slot as s where s.agent = $1 order by s.instance

-- name: living
-- Returns the instance if it is alive, and keeps it from being declared dead until this transaction ends.
select id from {schema}.instance where id = $1 and alive for share

-- name: lease
-- Writes the slots of an instance.
insert into {schema}.agent_slot (agent, instance, slots, wanted, most, until) values ($1, $2, $3, $4, $5, $6)
on conflict (agent, instance) do update set slots = excluded.slots, wanted = excluded.wanted, most = excluded.most,
    until = excluded.until

-- name: give_up
-- Deletes the slots of an instance, none of whose calls runs.
delete from {schema}.agent_slot where agent = $1 and instance = $2

-- name: release
-- Deletes the slots of dead instances whose calls are over.
delete from {schema}.agent_slot as s
where s.until <= $1 and not exists (select 1 from {schema}.instance as i where i.id = s.instance and i.alive)

-- name: extend
-- Extends by the grace the time for which the slots of dead instances count.
update {schema}.agent_slot set until = greatest(until, $1) + $2
