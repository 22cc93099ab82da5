-- Webhooks that get the status events of tasks.

alter table stepward_task add column events_to text;
alter table stepward_workflow add column events_to text;

-- The webhooks of the Supervisor that leads, and how they fare.
create table stepward_webhook (
    name text not null primary key,
    description text not null,
    reported_at real not null,
    taken integer not null default 0,
    taken_at real,
    failing_since real,
    tries integer not null default 0,
    next_try real not null default 0.0,
    error text,
    disabled_at real,
    disabled_by text
) strict, without rowid;

-- Events that a webhook's receiver refused, by the tokens of their messages.
create table stepward_webhook_refusal (
    token integer not null primary key,
    tries integer not null,
    refused_at real not null,
    next_try real not null,
    error text not null
) strict;
