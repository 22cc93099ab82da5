-- name: silence
-- Whether all fell silent since the last grace: noted by the first to renew, or the leases of all who were there are
-- past; who came after the silence says nothing of it.
select max(
    exists (select 1 from stepward_instance where alive = 1 and silent_at > ?2),
    exists (select 1 from stepward_instance where alive = 1 and renewed_at > ?2 and expires_at <= ?1)
        and not exists (select 1 from stepward_instance where alive = 1 and expires_at > ?1 and started_at < (
            select max(expires_at) from stepward_instance where alive = 1 and expires_at <= ?1)))

-- name: forgiven_at
-- When grace was last given.
select coalesce((select value from stepward_meta where key = 'forgiven_at'), 0.0)

-- name: write_forgiven_at
-- Grace is given once for each silence.
insert into stepward_meta values ('forgiven_at', ?1) on conflict (key) do update set value = excluded.value

-- name: extend_leases
-- Grace for instances.
update stepward_instance set expires_at = max(expires_at, ?1) + ?2 where alive = 1

-- name: grace
-- How far the grace is that is being given.
select value from stepward_meta where key = 'grace'

-- name: write_grace
-- It is this far.
insert into stepward_meta values ('grace', ?1) on conflict (key) do update set value = excluded.value

-- name: end_grace
-- All have it.
delete from stepward_meta where key = 'grace'

-- name: held
-- The next tasks that have owners: the other ones of the last owner, then those of the next owners.
select owner, id, uid from (
    select locked_by as owner, rowid as id, uid from stepward_task indexed by stepward_task_held
    where locked_by = ?1 and rowid > cast(?2 as integer) order by rowid limit ?3)
union all
select owner, id, uid from (
    select locked_by as owner, rowid as id, uid from stepward_task indexed by stepward_task_held
    where locked_by > ?1 order by locked_by, rowid limit ?3)
limit ?3

-- name: extend_tasks
-- Grace for what their owners do now.
update stepward_task set complete_by = max(complete_by, ?1) + ?2
where uid in (select value from json_each(?3)) and complete_by is not null

-- name: extend_steps
-- Grace for the running steps of these tasks; a task without an owner has nobody to have been kept from it.
update stepward_step set complete_by = max(complete_by, ?1) + ?2
where task in (select value from json_each(?3)) and state = 'running' and complete_by is not null
