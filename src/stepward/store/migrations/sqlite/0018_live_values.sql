-- Values that tasks write for readers outside, and updates that tasks are asked for.

create table stepward_live_value (
    task text not null,
    name text not null,
    value blob not null,
    at real not null,
    primary key (task, name)
) strict, without rowid;

-- Positions count from 0 without gaps.
create table stepward_stream_value (
    task text not null,
    name text not null,
    position integer not null check (position >= 0),
    value blob not null,
    at real not null,
    primary key (task, name, position)
) strict, without rowid;

create table stepward_update_request (
    task text not null,
    id text not null,
    name text not null,
    state text not null check (state in ('asked', 'accepted', 'rejected')),
    answer blob,
    asked_at real not null,
    answered_at real,
    primary key (task, id),
    constraint update_answered check ((state = 'asked') = (answer is null))
) strict, without rowid;
