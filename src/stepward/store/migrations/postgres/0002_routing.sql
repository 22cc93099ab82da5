-- Health and capacity of Agents, and the state that all instances of an Agent share.

-- Reports that come with each renewal: health of its Agents from an Agent instance, demand from a Scheduler.
alter table {schema}.instance add column health text not null default '[]';
alter table {schema}.instance add column demand text not null default '{}';

-- Every Agent that was ever served. An open breaker stops all calls until asks_at; then the instance probe_by probes.
create table {schema}.agent (
    name text collate "C" not null primary key,
    suspended_at float8,
    suspended_by text,
    note text,
    opened_at float8,
    asks_at float8,
    probe_by text collate "C",
    constraint agent_suspended check ((suspended_at is null) = (suspended_by is null)),
    constraint agent_open check ((opened_at is null) = (asks_at is null)),
    constraint agent_probe check (probe_by is null or opened_at is not null)
);
