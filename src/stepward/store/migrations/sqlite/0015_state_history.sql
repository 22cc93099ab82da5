-- Counts of live tasks that the leading Supervisor records each minute, and since when steps wait for room at an Agent.

create table stepward_state_sample (
    at real primary key,
    counts text not null check (json_valid(counts))
) strict, without rowid;

-- Comes with each renewal of a Scheduler: by Agent, since when the oldest step has waited for room.
alter table stepward_instance add column waits text not null default '{}' check (json_valid(waits));
