-- name: lock
-- Returns tasks by their uids (a JSON array); the write transaction holds the whole file.
select {task} from stepward_task where uid in (select value from json_each(?1)) order by uid

-- name: insert
-- Inserts an inbox row for the task's present or next owner.
insert into stepward_inbox (task, kind, name, body, sender) values (?1, ?2, ?3, ?4, ?5)

-- name: count
-- Adds ?2 rows to the task's count. A sleeping task without an owner becomes claimable; with ?3 so does a delayed one.
update stepward_task
set inbox = inbox + ?2,
    wake_at = case
        when locked_by is null and (state = 'waiting' or (state = 'pending' and ?3))
            then min(coalesce(wake_at, ?4), ?4)
        else wake_at end
where uid = ?1

-- name: mend
-- Acknowledges the alerts of a task that continues, and returns their numbers.
update stepward_alert set acknowledged_at = ?2, acknowledged_by = ?3,
    resolved_at = ?2, delivered_at = null, next_try = ?2
where acknowledged_at is null and task = ?1 and kind not in (select value from json_each(?4))
returning number

-- name: move_free
-- Moves a task without an owner. A task that is reopened loses a deadline that has passed; a task that is suspended
-- during its delay keeps the delay.
update stepward_task
set state = ?2, undo_to = ?3, waits_for = case
        when state = 'waiting' and ?2 = 'pending' then waits_for
        when waits_for = 'predecessor' and ?2 in ('suspended', 'pending') then waits_for end,
    wake_at = case when started_at is null and ?2 in ('suspended', 'pending') then wake_at end,
    finished_at = case when ?2 in {ends} then ?4 end,
    error = case when ?2 = 'pending' and state in {ends} then null else coalesce(?5, error) end,
    recovery_count = 0, hangs = 0,
    complete_by = null, deadline = case when state in {ends} and deadline <= ?4 then null else deadline end
where uid = ?1 and locked_by is null

-- name: skip
-- Marks the steps of a task that have not started as skipped.
update stepward_step set state = 'skipped', finished_at = ?2 where task = ?1 and state = 'not_started'
