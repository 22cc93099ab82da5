-- Replay in order, repairs that set steps aside, tasks' own deadlines, code that hangs, children of children.

-- How many steps a run had requested before an outcome was delivered to it.
alter table stepward_step add column asked integer;
-- The instant from which a repair keeps a step out of the replay.
alter table stepward_step add column set_aside_at real;

-- The instant by which the whole task is to end; complete_by is that of its present work.
alter table stepward_task add column deadline real;
update stepward_task set deadline = complete_by, complete_by = null
    where complete_by is not null and finished_at is null;
drop index stepward_task_deadline;
create index stepward_task_deadline on stepward_task (deadline)
    where deadline is not null and finished_at is null and state <> 'undoing';
-- How often its code blocked an event loop until the process ended itself, and the depth of the task below its root.
alter table stepward_task add column hangs integer not null default 0;
alter table stepward_task add column depth integer not null default 0;
-- Digests of the code and policies that a Scheduler serves.
alter table stepward_instance add column digests text not null default '{}' check (json_valid(digests));

-- The run in which a signal arrived: the ids of former runs are deleted.
alter table stepward_signal_seen add column run integer not null default 1;

-- Requests by task, so that a revoked request is found: its body begins with this text and the task's uid.
create index stepward_message_asked on stepward_message (substr(body, 1, 63))
    where substr(body, 1, 26) = x'7b2274797065223a2272657175657374222c227461736b223a22';
