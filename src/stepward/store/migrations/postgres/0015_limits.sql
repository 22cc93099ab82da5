-- Limits, declared or set by an operator, and the slots that instances lease under the limit of an Agent.

create table {schema}.flow_limit (
    name text collate "C" not null primary key,
    per_key boolean not null default false,
    declared_concurrency integer check (declared_concurrency > 0),
    declared_starts integer check (declared_starts > 0),
    declared_seconds float8 check (declared_seconds > 0),
    concurrency integer check (concurrency > 0),
    starts integer check (starts > 0),
    seconds float8 check (seconds > 0),
    set_at float8,
    set_by text,
    note text,
    constraint flow_limit_declared_rate check ((declared_starts is null) = (declared_seconds is null)),
    constraint flow_limit_rate check ((starts is null) = (seconds is null)),
    constraint flow_limit_set check ((set_at is null) = (set_by is null))
);

create table {schema}.agent_slot (
    agent text collate "C" not null,
    instance text collate "C" not null,
    slots integer not null check (slots >= 0),
    wanted integer not null check (wanted >= 0),
    most integer not null check (most >= 0),
    until float8 not null,
    primary key (agent, instance)
);
