-- name: lock
-- Returns the tasks of the instance; the write transaction holds the whole file.
select uid from stepward_task where locked_by = ?1

-- name: release
-- Releases the tasks of the instance without counting a failure; waiting tasks stay waiting.
update stepward_task
set locked_by = null, complete_by = case when state = 'waiting' then complete_by end,
    wake_at = case when state <> 'waiting' then null
        when exists (select 1 from stepward_inbox where task = uid) then ?2 else wake_at end,
    waits_for = case when state = 'waiting' then waits_for end,
    state = case when state in ('undoing', 'suspended', 'waiting') then state else 'pending' end
where locked_by = ?1
