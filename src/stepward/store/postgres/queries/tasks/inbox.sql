-- name: lock
-- Locks tasks until the transaction ends, in the order of their uids, so that two transactions cannot deadlock.
select {task} from {schema}.task where uid = any($1::text[]) order by uid for update

-- name: insert
-- Inserts inbox rows for the tasks' present or next owners, in the order given. The tasks are already locked, so the
-- numbers of a task's rows are in the order of their commits.
insert into {schema}.inbox (task, kind, name, body, sender)
select v.task, v.kind, v.name, v.body, v.sender
from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[]) with ordinality
    as v (task, kind, name, body, sender, place)
order by v.place

-- name: count
-- Adds the new rows to the tasks' counts. A sleeping task without an owner becomes claimable; so does a delayed task if
-- a row makes it fail.
update {schema}.task as t
set inbox = t.inbox + v.count,
    wake_at = case
        when t.locked_by is null and (t.state = 'waiting' or (t.state = 'pending' and v.fails))
            then least(t.wake_at, $4)
        else t.wake_at end
from unnest($1::text[], $2::integer[], $3::boolean[]) as v (uid, count, fails)
where t.uid = v.uid

-- name: mend
-- Acknowledges the alerts of a task that continues, and returns their numbers.
update {schema}.alert set acknowledged_at = $2, acknowledged_by = $3,
    resolved_at = $2, delivered_at = null, next_try = $2
where acknowledged_at is null and task = $1 and kind <> all($4::text[])
returning number

-- name: move_free
-- Moves a task without an owner. A task that is reopened loses a deadline that has passed; a task that is suspended
-- during its delay keeps the delay; a task that replaces another keeps waiting for it.
update {schema}.task
set state = $2, undo_to = $3, waits_for = case
        when state = 'waiting' and $2 = 'pending' then waits_for
        when waits_for = 'predecessor' and $2 in ('suspended', 'pending') then waits_for end,
    wake_at = case when started_at is null and $2 in ('suspended', 'pending') then wake_at end,
    finished_at = case when $2 in {ends} then $4::float8 end,
    error = case when $2 = 'pending' and state in {ends} then null else coalesce($5, error) end,
    recovery_count = 0, hangs = 0,
    complete_by = null, deadline = case when state in {ends} and deadline <= $4 then null else deadline end
where uid = $1 and locked_by is null

-- name: move_free_all
-- The same for several tasks, none of which is in error: their errors stay as they are.
update {schema}.task as t
set state = v.after, undo_to = v.undo_to, waits_for = case
        when t.state = 'waiting' and v.after = 'pending' then t.waits_for
        when t.waits_for = 'predecessor' and v.after in ('suspended', 'pending') then t.waits_for end,
    wake_at = case when t.started_at is null and v.after in ('suspended', 'pending') then t.wake_at end,
    finished_at = case when v.after in {ends} then $4::float8 end,
    recovery_count = 0, hangs = 0,
    complete_by = null, deadline = case when t.state in {ends} and t.deadline <= $4 then null else t.deadline end
from unnest($1::text[], $2::text[], $3::text[]) as v (uid, after, undo_to)
where t.uid = v.uid and case when t.locked_by is null then true end

-- name: skip
-- Marks the steps of a task that have not started as skipped.
update {schema}.step set state = 'skipped', finished_at = $2 where task = $1 and state = 'not_started'

-- name: skip_all
-- Marks the steps of several tasks that have not started as skipped.
update {schema}.step set state = 'skipped', finished_at = $2 where task = any($1::text[]) and state = 'not_started'
