-- What each sink has taken of each alert, and when an alert was over by itself.

alter table stepward_alert add column resolved_at real;

create table stepward_alert_receipt (
    number integer not null,
    sink text not null,
    raised_at real,
    resolved_at real,
    tries integer not null,
    next_try real not null,
    error text,
    given_up_at real,
    primary key (number, sink)
) strict, without rowid;

-- The sinks of the Supervisor that leads, for operators.
create table stepward_alert_sink (
    name text not null primary key,
    description text not null,
    reported_at real not null
) strict, without rowid;
