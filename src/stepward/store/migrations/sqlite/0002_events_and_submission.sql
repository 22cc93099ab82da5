-- Status events, submission queues with dead letters, and plans recorded at submission.

-- How many status events were told of the task: the sequence of the last one.
alter table stepward_task add column events integer not null default 0;

-- The declared plan of a workflow, if it has one.
alter table stepward_workflow add column plan blob;

-- How often a message was taken: one that is never settled is poison.
alter table stepward_message add column tries integer not null default 0;

-- Messages that nobody can use, with the reason, until an operator puts them back or throws them away.
create table stepward_dead_letter (
    number integer primary key autoincrement,
    queue text not null,
    body blob not null,
    reason text not null,
    tries integer not null,
    buried_at real not null
) strict;
