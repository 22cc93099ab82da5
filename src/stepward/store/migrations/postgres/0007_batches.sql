-- Indexes by which work in batches continues where the last batch ended.

-- beside
create index concurrently task_held_in_order on {schema}.task (locked_by, uid) where locked_by is not null;
create index concurrently step_watched_in_order on {schema}.step (complete_by, task, run, key) where watched;

-- transaction
drop index {schema}.task_held;
alter index {schema}.task_held_in_order rename to task_held;

-- transaction
-- A step is watched only while it runs; its condition names no column that an unwatched step's end changes.
drop index {schema}.step_watched;
alter index {schema}.step_watched_in_order rename to step_watched;
