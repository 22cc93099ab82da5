-- Replay in order, repairs that set steps aside, tasks' own deadlines, code that hangs, children of children.

-- How much a run had asked for before an outcome was delivered to it.
alter table {schema}.step add column asked integer;
-- Since when a repair has taken a step out of what is replayed.
alter table {schema}.step add column set_aside_at float8;
-- By when the whole task is to end; complete_by says by when what it does now is to be done.
alter table {schema}.task add column deadline float8;
-- How often its code held up a process until that ended itself, and how many tasks stand above it.
alter table {schema}.task add column hangs integer not null default 0;
alter table {schema}.task add column depth integer not null default 0;
-- Digests of the code and policies that a Scheduler serves.
alter table {schema}.instance add column digests text not null default '{}';
-- In which run of its task a signal came: the ids of former runs are forgotten.
alter table {schema}.signal_seen add column run integer not null default 1;

-- beside
create index concurrently task_own_deadline on {schema}.task (deadline)
    where deadline is not null and finished_at is null and state <> 'undoing';
-- What is asked for a task, so that a request that is revoked is found: its body begins with this and the task's uid.
create index concurrently message_asked on {schema}.message (substring(body from 1 for 63))
    where substring(body from 1 for 26) = '\x7b2274797065223a2272657175657374222c227461736b223a22'::bytea;

-- transaction
update {schema}.task set deadline = complete_by, complete_by = null
    where complete_by is not null and finished_at is null;
drop index {schema}.task_deadline;
alter index {schema}.task_own_deadline rename to task_deadline;
