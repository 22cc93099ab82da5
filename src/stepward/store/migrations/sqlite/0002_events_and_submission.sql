-- Status events, submission queues with dead letters, and plans recorded at submission.

-- The number of status events of the task, which is the sequence number of the last one.
alter table stepward_task add column events integer not null default 0;

-- The declared plan of a workflow, if it has one.
alter table stepward_workflow add column plan blob;

-- How often a message was taken: a message that is taken too often is a dead letter.
alter table stepward_message add column tries integer not null default 0;

-- Messages that cannot be processed, with the reason, until an operator puts them back or discards them.
create table stepward_dead_letter (
    number integer primary key autoincrement,
    queue text not null,
    body blob not null,
    reason text not null,
    tries integer not null,
    buried_at real not null
) strict;

-- Schedules of recurring tasks: the leading Supervisor fires each nominal time once.
create table stepward_schedule (
    name text not null primary key,
    workflow text not null,
    version text not null,
    input blob not null,
    cron text not null,
    timezone text not null,
    catch_up text not null check (catch_up in ('one', 'all', 'none')),
    priority integer not null,
    complete_seconds real,
    next_at real,
    fired_at real,
    paused_at real
) strict, without rowid;

create index stepward_schedule_due on stepward_schedule (next_at) where paused_at is null and next_at is not null;
