-- Counts of live tasks that the leading Supervisor records each minute, and since when steps wait for room at an Agent.

create table {schema}.state_sample (
    at float8 primary key,
    counts text not null
);

-- Comes with each renewal of a Scheduler: by Agent, since when the oldest step has waited for room.
alter table {schema}.instance add column waits text not null default '{}';
