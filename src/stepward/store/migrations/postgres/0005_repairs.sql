-- Replay in order, repairs that set steps aside, tasks' own deadlines, code that hangs, children of children.

-- How many steps a run had requested before an outcome was delivered to it.
alter table {schema}.step add column asked integer;
-- The instant from which a repair keeps a step out of the replay.
alter table {schema}.step add column set_aside_at float8;
-- The instant by which the whole task is to end; complete_by is that of its present work.
alter table {schema}.task add column deadline float8;
-- How often its code blocked an event loop until the process ended itself, and the depth of the task below its root.
alter table {schema}.task add column hangs integer not null default 0;
alter table {schema}.task add column depth integer not null default 0;
-- Digests of the code and policies that a Scheduler serves.
alter table {schema}.instance add column digests text not null default '{}';
-- The run in which a signal arrived: the ids of former runs are deleted.
alter table {schema}.signal_seen add column run integer not null default 1;

-- beside
create index concurrently task_own_deadline on {schema}.task (deadline)
    where deadline is not null and finished_at is null and state <> 'undoing';
-- Requests by task, so that a revoked request is found: its body begins with this text and the task's uid.
create index concurrently message_asked on {schema}.message (substring(body from 1 for 63))
    where substring(body from 1 for 26) = '\x7b2274797065223a2272657175657374222c227461736b223a22'::bytea;

-- transaction
update {schema}.task set deadline = complete_by, complete_by = null
    where complete_by is not null and finished_at is null;
drop index {schema}.task_deadline;
alter index {schema}.task_own_deadline rename to task_deadline;
