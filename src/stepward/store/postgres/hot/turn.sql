-- name: fence
-- Returns the instance if it is alive, and keeps it from being declared dead until this transaction ends.
select id from {schema}.instance where id = $1 and alive for share

-- name: held
-- Returns a row for each of the tasks that the instance holds; while it lives no other transaction releases them.
select 1 from unnest($1::text[]) as wanted (uid)
where (select t.locked_by from {schema}.task as t where t.uid = wanted.uid) = $2

-- name: held_forward
-- Returns the task if the instance holds it and its undo has not begun, and keeps it so until the transaction ends.
select 1 from {schema}.task where uid = $1 and locked_by = $2 and undo_to is null for share

-- name: insert_task
-- Inserts tasks in the order of their ids, so that two transactions cannot deadlock; an id or uid that exists is an
-- error.
insert into {schema}.task ({task}) select * from unnest({task_arrays}) returning 1

-- name: insert_task_compact
-- Inserts tasks that have only what was submitted; the other columns are constants.
insert into {schema}.task ({task_others}, {task_compact})
select v.*, {task_values} from unnest({task_other_arrays}) as v returning 1

-- name: insert_task_alike
-- The same for tasks that are alike in what is usually so: one value each.
insert into {schema}.task ({task_unlike}, {task_alike}, {task_compact})
select v.*, {task_scalars}, {task_values} from unnest({task_unlike_arrays}) as v returning 1

-- name: insert_child
-- Inserts child tasks; a child that exists is left as it is.
insert into {schema}.task ({task}) select * from unnest({task_arrays}) on conflict (uid) do nothing

-- name: insert_step
-- Inserts steps.
insert into {schema}.step ({step}) select * from unnest({step_arrays}) returning 1

-- name: insert_step_compact
-- Inserts steps that have only their request; the other columns are constants.
insert into {schema}.step ({step_others}, {step_compact})
select v.*, {step_values} from unnest({step_other_arrays}) as v returning 1

-- name: insert_step_alike
-- The same for steps that are alike in what is usually so: one value each.
insert into {schema}.step ({step_unlike}, {step_alike}, {step_compact})
select v.*, {step_scalars}, {step_values} from unnest({step_unlike_arrays}) as v returning 1

-- name: insert_planned
-- Inserts planned steps; a step that exists is left as it is.
insert into {schema}.step ({step}) select * from unnest({step_arrays}) on conflict do nothing

-- name: fill_step
-- Fills planned steps that the workflow has reached: each row becomes what an insert would have made.
update {schema}.step as s
set {step_filled}
from unnest({step_arrays}) as v ({step})
where s.task = v.task and s.run = v.run and s.key = v.key and s.state = 'not_started' and s.input = ''::bytea
returning 1

-- name: finish
-- Records the outcomes of running attempts; an abandoned step keeps its state and records a late outcome once.
update {schema}.step as s
set state = case s.state when 'running' then v.state else s.state end,
    output = v.output, error = v.error, in_doubt = v.in_doubt,
    ordinal = case s.state when 'running' then v.ordinal end,
    finished_at = v.finished_at, watched = false, asked = case s.state when 'running' then v.asked end
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::text[], $6::bytea[], $7::bytea[],
        $8::boolean[], $9::integer[], $10::float8[], $11::integer[])
    as v (task, run, key, attempt, state, output, error, in_doubt, ordinal, finished_at, asked)
where s.task = v.task and s.run = v.run and s.key = v.key and s.attempt = v.attempt
    and (s.state = 'running' or (s.state = 'abandoned' and s.finished_at is null))
returning 1

-- name: finish_compact
-- The same for outcomes that are results.
update {schema}.step as s
set state = case s.state when 'running' then 'completed' else s.state end,
    output = v.output, error = null, in_doubt = false,
    ordinal = case s.state when 'running' then v.ordinal end,
    finished_at = v.finished_at, watched = false, asked = case s.state when 'running' then v.asked end
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::bytea[], $6::integer[], $7::float8[],
        $8::integer[])
    as v (task, run, key, attempt, output, ordinal, finished_at, asked)
where s.task = v.task and s.run = v.run and s.key = v.key and s.attempt = v.attempt
    and (s.state = 'running' or (s.state = 'abandoned' and s.finished_at is null))
returning 1

-- name: deliver
-- Records the places of outcomes in the order of delivery.
update {schema}.step as s set ordinal = v.ordinal, asked = v.asked
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::integer[])
    as v (task, run, key, ordinal, asked)
where s.task = v.task and s.run = v.run and s.key = v.key
    and s.ordinal is null and s.state in ('completed', 'failed')
returning 1

-- name: dispatch
-- Starts the next attempts of steps.
update {schema}.step as s
set state = 'running', attempt = v.attempt, started_at = v.started_at, complete_by = v.complete_by, repeat_at = null,
    watched = false, deferred_at = null
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::float8[], $6::float8[])
    as v (task, run, key, attempt, started_at, complete_by)
where s.task = v.task and s.run = v.run and s.key = v.key
    and s.attempt = v.attempt - 1 and s.state in ('not_started', 'to_repeat')
returning 1

-- name: watch
-- Makes the Supervisor watch running attempts; their complete-by never becomes later.
update {schema}.step as s
set watched = true, complete_by = least(s.complete_by, v.complete_by), error = coalesce(v.error, s.error),
    in_doubt = v.in_doubt, deferred_at = coalesce(v.deferred_at, s.deferred_at)
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::float8[], $6::bytea[], $7::boolean[],
        $8::float8[])
    as v (task, run, key, attempt, complete_by, error, in_doubt, deferred_at)
where s.task = v.task and s.run = v.run and s.key = v.key and s.attempt = v.attempt and s.state = 'running'
returning 1

-- name: move_step
-- Moves steps from one state to another; an abandoned step may still record a late outcome.
update {schema}.step as s
set state = v.after, watched = false,
    finished_at = case v.after when 'abandoned' then s.finished_at else coalesce(s.finished_at, v.at) end
from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::float8[])
    as v (task, run, key, before, after, at)
where s.task = v.task and s.run = v.run and s.key = v.key and s.state = v.before
returning 1

-- name: move_task
-- Moves tasks that the instance holds. At an end or a release their inbox must be as it was read, and no status event
-- may have been added by another process. Rows are found by their uids: the CASE keeps the planner from the index of
-- owners.
update {schema}.task as t
set state = v.after, locked_by = case when v.let_go then null else t.locked_by end,
    output = v.output, error = v.error, wake_at = v.wake_at, waits_for = v.waits_for,
    undo_to = v.undo_to, run = coalesce(v.run, t.run), input = coalesce(v.input, t.input),
    finished_at = v.finished_at, recovery_count = case when v.progress then 0 else t.recovery_count end,
    events = coalesce(v.events_after, t.events), complete_by = v.complete_by
from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::boolean[], $6::bytea[], $7::bytea[], $8::float8[],
        $9::text[], $10::text[], $11::integer[], $12::bytea[], $13::float8[], $14::boolean[], $15::float8[],
        $16::integer[], $17::integer[])
    as v (uid, before, after, inbox, let_go, output, error, wake_at, waits_for, undo_to, run, input, finished_at,
        progress, complete_by, events_before, events_after)
where t.uid = v.uid and case when t.locked_by = $18 then true end and t.state = v.before and (not v.let_go or t.inbox = v.inbox)
    and (v.events_before is null or t.events = v.events_before)
returning 1

-- name: touch_task
-- Counts new status events of tasks that do not move, or sets their complete-by; no status event may have been added by
-- another process since the rows were read.
update {schema}.task as t set events = coalesce(v.events_after, t.events), complete_by = coalesce(v.complete_by, t.complete_by)
from unnest($1::text[], $2::integer[], $3::integer[], $4::float8[]) as v (uid, events_before, events_after, complete_by)
where t.uid = v.uid and (v.events_before is null or t.events = v.events_before)
returning 1

-- name: set_attributes
-- Sets the search attributes of tasks; a trigger updates the rows of the search index.
update {schema}.task as t set attributes = v.attributes
from unnest($1::text[], $2::bytea[]) as v (uid, attributes)
where t.uid = v.uid
returning 1

-- name: take_inbox
-- Deletes inbox rows that were processed, found by their numbers: a task may have many.
delete from {schema}.inbox as i
using unnest($1::bigint[], $2::text[]) as v (number, task)
where i.number = v.number and i.task || '' = v.task
returning 1

-- name: clock
-- Returns the server's clock, in seconds since the epoch.
select extract(epoch from clock_timestamp())::float8

-- name: publish
-- Sets published values, at most one of each name.
insert into {schema}.live_value (task, name, value, at)
select * from unnest($1::text[], $2::text[], $3::bytea[], $4::float8[])
on conflict (task, name) do update set value = excluded.value, at = excluded.at
returning 1

-- name: append
-- Appends values to streams, and returns a row for each; the streams are locked in order. The function alone would wait
-- for a table that is locked after the statement's snapshot was taken: the condition has it locked before.
select generate_series(1, {schema}.append_values(g.task, g.name, g.given, g.at))
from (
    select task, name, array_agg(value order by place) as given, max(at) as at
    from unnest($1::text[], $2::text[], $3::bytea[], $4::float8[]) with ordinality as v (task, name, value, at, place)
    group by task, name order by task, name) as g
where not exists (select 1 from {schema}.task where false for key share)

-- name: put_request
-- Appends requests to the queues of their Agents.
insert into {schema}.message (queue, body, expires_at)
select v.queue, v.body, v.expires_at
from unnest($1::text[], $2::bytea[], $3::float8[]) with ordinality as v (queue, body, expires_at, place)
order by v.place returning 1

-- name: answer
-- Records the answers to updates that have none yet.
update {schema}.update_request as u set state = v.state, answer = v.answer, answered_at = v.at
from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::float8[]) as v (task, id, state, answer, at)
where u.task = v.task and u.id = v.id and u.state = 'asked'
returning 1

-- name: trim_steps
-- Deletes a bounded number of the steps of each task's former runs; if asked, none that an undo has to reach, must stop
-- at or has to name.
delete from {schema}.step where ctid = any(array(
    select found.ctid
    from unnest($1::text[], $2::integer[], $3::integer[], $4::boolean[]) as v (task, first, last, keeps)
    cross join lateral (
        select s.ctid from {schema}.step as s
        where s.task = v.task and s.run between v.first and v.last
            and not (v.keeps and s.kind in ('operation', 'child') and (
                (s.attempt > 0
                    and (s.has_undo or s.irreversible or s.kind = 'child'
                        or (s.state <> 'completed' and s.output is null))
                    and (s.state in ('running', 'to_repeat', 'abandoned', 'completed')
                        or (s.state = 'failed' and s.in_doubt)))
                or (s.state = 'completed' and (s.attempt = 0 or s.started_at is null))))
        limit $5::integer) as found))

-- name: trim_signals
-- Deletes a bounded number of the signal ids of each task's former runs.
delete from {schema}.signal_seen where ctid = any(array(
    select found.ctid
    from unnest($1::text[], $2::integer[]) as v (task, last)
    cross join lateral (
        select g.ctid from {schema}.signal_seen as g where g.task = v.task and g.run <= v.last
        limit $3::integer) as found))

-- name: trim_updates
-- Deletes a bounded number of each task's updates that were answered before an instant.
delete from {schema}.update_request where ctid = any(array(
    select found.ctid
    from unnest($1::text[]) as v (task)
    cross join lateral (
        select u.ctid from {schema}.update_request as u where u.task = v.task and u.answered_at < $2::float8
        limit $3::integer) as found))
