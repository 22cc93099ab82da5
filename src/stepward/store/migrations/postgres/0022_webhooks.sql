-- Webhooks that get the status events of tasks.

alter table {schema}.task add column events_to text collate "C";
alter table {schema}.workflow add column events_to text collate "C";

-- The webhooks of the Supervisor that leads, and how they fare.
create table {schema}.webhook (
    name text collate "C" not null primary key,
    description text not null,
    reported_at float8 not null,
    taken bigint not null default 0,
    taken_at float8,
    failing_since float8,
    tries integer not null default 0,
    next_try float8 not null default 0.0,
    error text,
    disabled_at float8,
    disabled_by text
);

-- Events that a webhook's receiver refused, by the tokens of their messages.
create table {schema}.webhook_refusal (
    token bigint not null primary key,
    tries integer not null,
    refused_at float8 not null,
    next_try float8 not null,
    error text not null
);
