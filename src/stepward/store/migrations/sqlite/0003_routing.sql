-- Health and capacity of Agents, and the state that all instances of an Agent share.

-- Reports that come with each renewal: health of its Agents from an Agent instance, demand from a Scheduler.
alter table stepward_instance add column health text not null default '[]' check (json_valid(health));
alter table stepward_instance add column demand text not null default '{}' check (json_valid(demand));

-- Every Agent that was ever served. An open breaker stops all calls until asks_at; then the instance probe_by probes.
create table stepward_agent (
    name text not null primary key,
    suspended_at real,
    suspended_by text,
    note text,
    opened_at real,
    asks_at real,
    probe_by text,
    constraint agent_suspended check ((suspended_at is null) = (suspended_by is null)),
    constraint agent_open check ((opened_at is null) = (asks_at is null)),
    constraint agent_probe check (probe_by is null or opened_at is not null)
) strict, without rowid;
