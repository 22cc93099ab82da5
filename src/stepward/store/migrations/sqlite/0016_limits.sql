-- Limits, declared or set by an operator, and the slots that instances lease under the limit of an Agent.

create table stepward_flow_limit (
    name text not null primary key,
    per_key integer not null default 0 check (per_key in (0, 1)),
    declared_concurrency integer check (declared_concurrency > 0),
    declared_starts integer check (declared_starts > 0),
    declared_seconds real check (declared_seconds > 0),
    concurrency integer check (concurrency > 0),
    starts integer check (starts > 0),
    seconds real check (seconds > 0),
    set_at real,
    set_by text,
    note text,
    check ((declared_starts is null) = (declared_seconds is null)),
    check ((starts is null) = (seconds is null)),
    check ((set_at is null) = (set_by is null))
) strict;

create table stepward_agent_slot (
    agent text not null,
    instance text not null,
    slots integer not null check (slots >= 0),
    wanted integer not null check (wanted >= 0),
    most integer not null check (most >= 0),
    until real not null,
    primary key (agent, instance)
) strict;
