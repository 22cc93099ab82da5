-- How Agents are doing, and how all instances of one stand together.

-- What an instance says of itself with each renewal: an Agent instance of its Agents, a Scheduler of what it asks.
alter table {schema}.instance add column health text not null default '[]';
alter table {schema}.instance add column demand text not null default '{}';

-- Every Agent that was ever served. An open breaker lets nothing pass until asks_at; then probe_by finds out.
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
