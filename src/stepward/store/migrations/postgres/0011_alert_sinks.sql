-- What each sink has taken of each alert, and when an alert was over by itself.

alter table {schema}.alert add column resolved_at float8;

create table {schema}.alert_receipt (
    number bigint not null,
    sink text collate "C" not null,
    raised_at float8,
    resolved_at float8,
    tries integer not null,
    next_try float8 not null,
    error text,
    given_up_at float8,
    primary key (number, sink)
);

-- The sinks of the Supervisor that leads, for operators.
create table {schema}.alert_sink (
    name text collate "C" not null primary key,
    description text not null,
    reported_at float8 not null
);
