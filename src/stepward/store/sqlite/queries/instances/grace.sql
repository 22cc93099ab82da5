-- name: silence
-- Returns whether all instances have been silent since the last grace: the first to renew recorded it, or the leases of
-- all that had started before the silence have run out.
select max(
    exists (select 1 from stepward_instance where alive = 1 and silent_at > ?2),
    exists (select 1 from stepward_instance where alive = 1 and renewed_at > ?2 and expires_at <= ?1)
        and not exists (select 1 from stepward_instance where alive = 1 and expires_at > ?1 and started_at < (
            select max(expires_at) from stepward_instance where alive = 1 and expires_at <= ?1)))

-- name: forgiven_at
-- Returns the instant of the last grace.
select coalesce((select value from stepward_meta where key = 'forgiven_at'), 0.0)

-- name: write_forgiven_at
-- Writes the instant of the grace; each silence gets one grace.
insert into stepward_meta values ('forgiven_at', ?1) on conflict (key) do update set value = excluded.value

-- name: extend_leases
-- Extends the leases of live instances by the grace.
update stepward_instance set expires_at = max(expires_at, ?1) + ?2 where alive = 1

-- name: grace
-- Returns the position of a grace that is in progress.
select value from stepward_meta where key = 'grace'

-- name: write_grace
-- Writes the position of the grace.
insert into stepward_meta values ('grace', ?1) on conflict (key) do update set value = excluded.value

-- name: end_grace
-- Ends the grace: all tasks have it.
delete from stepward_meta where key = 'grace'

-- name: held
-- Returns the next tasks that have owners: the rest of the last owner's, then those of the next owners.
select owner, id, uid from (
    select locked_by as owner, rowid as id, uid from stepward_task indexed by stepward_task_held
    where locked_by = ?1 and rowid > cast(?2 as integer) order by rowid limit ?3)
union all
select owner, id, uid from (
    select locked_by as owner, rowid as id, uid from stepward_task indexed by stepward_task_held
    where locked_by > ?1 order by locked_by, rowid limit ?3)
limit ?3

-- name: extend_tasks
-- Extends the complete-by of tasks that have owners.
update stepward_task set complete_by = max(complete_by, ?1) + ?2
where uid in (select value from json_each(?3)) and complete_by is not null

-- name: extend_steps
-- Extends the complete-by of the running steps of tasks that have owners; a task without an owner was not held up.
update stepward_step set complete_by = max(complete_by, ?1) + ?2
where task in (select value from json_each(?3)) and state = 'running' and complete_by is not null
