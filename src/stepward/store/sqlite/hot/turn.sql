-- name: held
-- Returns how many of the tasks (a JSON array of uids) the instance holds.
select count(*) from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value
where t.locked_by = ?2

-- name: held_forward
-- Returns the task if the instance holds it and its undo has not begun.
select 1 from stepward_task where uid = ?1 and locked_by = ?2 and undo_to is null

-- name: insert_task
-- Inserts a task; an id or uid that exists is an error.
insert into stepward_task ({task}) values ({task_places})

-- name: insert_child
-- Inserts a child task; a child that exists is left as it is.
insert into stepward_task ({task}) values ({task_places}) on conflict (uid) do nothing

-- name: insert_step
-- Inserts a step.
insert into stepward_step ({step}) values ({step_places})

-- name: insert_planned
-- Inserts a planned step; a step that exists is left as it is.
insert into stepward_step ({step}) values ({step_places}) on conflict do nothing

-- name: fill_step
-- Fills a planned step that the workflow has reached: the row becomes what an insert would have made.
update stepward_step
set {step_filled}
where task = ?1 and run = ?2 and key = ?3 and state = 'not_started' and input = x''

-- name: finish
-- Records the outcome of a running attempt; an abandoned step keeps its state and records a late outcome once.
update stepward_step
set state = case state when 'running' then ?5 else state end,
    output = ?6, error = ?7, in_doubt = ?8,
    ordinal = case state when 'running' then ?9 end,
    finished_at = ?10, watched = 0, asked = case state when 'running' then ?11 end
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4
    and (state = 'running' or (state = 'abandoned' and finished_at is null))

-- name: deliver
-- Records the place of an outcome in the order of delivery.
update stepward_step set ordinal = ?4, asked = ?5
where task = ?1 and run = ?2 and key = ?3 and ordinal is null and state in ('completed', 'failed')

-- name: dispatch
-- Starts the next attempt of a step.
update stepward_step
set state = 'running', attempt = ?4, started_at = ?5, complete_by = ?6, repeat_at = null, watched = 0,
    deferred_at = null
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 - 1 and state in ('not_started', 'to_repeat')

-- name: watch
-- Makes the Supervisor watch a running attempt; its complete-by never becomes later.
update stepward_step
set watched = 1, complete_by = min(coalesce(complete_by, ?5), ?5), error = coalesce(?6, error),
    in_doubt = ?7, deferred_at = coalesce(?8, deferred_at)
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 and state = 'running'

-- name: move_step
-- Moves a step from one state to another; an abandoned step may still record a late outcome.
update stepward_step
set state = ?5, watched = 0,
    finished_at = case ?5 when 'abandoned' then finished_at else coalesce(finished_at, ?6) end
where task = ?1 and run = ?2 and key = ?3 and state = ?4

-- name: move_task
-- Moves a task that the instance holds, and returns a row for it; at an end or a release its inbox must be as it was
-- read. What a trigger changes at an end is not counted.
update stepward_task
set state = ?3, locked_by = case when ?5 then null else locked_by end,
    output = ?6, error = ?7, wake_at = ?8, waits_for = ?9,
    undo_to = ?10, run = coalesce(?11, run), input = coalesce(?12, input), finished_at = ?13,
    recovery_count = case when ?14 then 0 else recovery_count end, complete_by = ?15
where uid = ?1 and locked_by = ?16 and state = ?2 and (not ?5 or inbox = ?4)
returning 1

-- name: set_attributes
-- Sets the search attributes of a task; a trigger updates the rows of the search index.
update stepward_task set attributes = ?2 where uid = ?1

-- name: complete_by
-- Sets the complete-by of a task of which nothing else changes.
update stepward_task set complete_by = ?2 where uid = ?1

-- name: take_inbox
-- Deletes an inbox row that was processed.
delete from stepward_inbox where number = ?1 and task = ?2

-- name: publish
-- Sets a published value.
insert into stepward_live_value (task, name, value, at) values (?1, ?2, ?3, ?4)
on conflict (task, name) do update set value = excluded.value, at = excluded.at

-- name: append
-- Appends a value to a stream; no other transaction writes at the same time.
insert into stepward_stream_value (task, name, position, value, at)
values (?1, ?2, (
    select coalesce(max(position) + 1, 0) from stepward_stream_value where task = ?1 and name = ?2), ?3, ?4)

-- name: put_request
-- Appends a request to the queue of its Agent.
insert into stepward_message (queue, body, expires_at, taken_until) values (?1, ?2, ?3, 0.0)

-- name: answer
-- Records the answer to an update that has none yet.
update stepward_update_request set state = ?3, answer = ?4, answered_at = ?5
where task = ?1 and id = ?2 and state = 'asked'

-- name: trim_steps
-- Deletes a bounded number of the steps of former runs; with ?4 none that an undo has to reach, must stop at or has to
-- name.
delete from stepward_step where rowid in (
    select rowid from stepward_step
    where task = ?1 and run between ?2 and ?3
        and not (?4 and kind in ('operation', 'child') and (
            (attempt > 0 and (has_undo or irreversible or kind = 'child' or (state <> 'completed' and output is null))
                and (state in ('running', 'to_repeat', 'abandoned', 'completed') or (state = 'failed' and in_doubt)))
            or (state = 'completed' and (attempt = 0 or started_at is null))))
    limit ?5)

-- name: trim_signals
-- Deletes a bounded number of the signal ids of former runs.
delete from stepward_signal_seen where (task, name, id) in (
    select task, name, id from stepward_signal_seen where task = ?1 and ?2 > 0 and run <= ?3 and ?4 >= 0 limit ?5)

-- name: trim_updates
-- Deletes a bounded number of a task's updates that were answered before an instant.
delete from stepward_update_request where (task, id) in (
    select task, id from stepward_update_request where task = ?1 and answered_at < ?2 limit ?3)
