-- How Agents are doing, and how all instances of one stand together.

-- What an instance says of itself with each renewal: an Agent instance of its Agents, a Scheduler of what it asks.
alter table stepward_instance add column health text not null default '[]' check (json_valid(health));
alter table stepward_instance add column demand text not null default '{}' check (json_valid(demand));

-- Every Agent that was ever served. An open breaker lets nothing pass until asks_at; then probe_by finds out.
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
