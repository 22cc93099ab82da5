-- name: task
-- Returns the task with that id.
select {task} from {schema}.task where id = $1

-- name: lock_task
-- Returns the task with that id and locks it until the transaction ends.
select {task} from {schema}.task where id = $1 for update

-- name: lock_tasks
-- Returns the tasks with these ids and locks them until the transaction ends, in the order of their uids.
select {task} from {schema}.task where id = any($1::text[]) order by uid for update

-- name: steps
-- Returns all steps of the task with that id.
select {s_step} from {schema}.task as t join {schema}.step as s on s.task = t.uid
where t.id = $1
order by s.run, s.number, s.set_aside_at nulls last

-- name: tallies
-- Returns the steps of each task and how many of them are completed or undone, without those that a repair set aside.
select w.uid, count(s.key), count(*) filter (where s.state in ('completed', 'undone')),
    coalesce(json_agg(distinct s.key) filter (
        where s.state = 'completed' and s.kind <> 'undo' and s.key = any($2::text[])), '[]')::text,
    count(distinct s.key) filter (where s.state = 'completed' and s.kind <> 'undo')
from unnest($1::text[]) as w (uid) left join {schema}.step as s on s.task = w.uid and s.set_aside_at is null
group by w.uid

-- name: ended
-- Returns those of the tasks that have ended.
select {task} from {schema}.task where uid = any($1::text[]) and state in {ends}

-- name: see_signal
-- Records the id of a signal; changes nothing if it is already recorded.
insert into {schema}.signal_seen (task, name, id, run) values ($1, $2, $3, $4) on conflict do nothing

-- name: see_signals
-- Records the ids of signals; returns those that were not recorded already.
insert into {schema}.signal_seen (task, name, id, run)
select * from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) on conflict do nothing
returning task, name, id

-- name: seen_signals
-- Returns those of the ids of signals that are recorded.
select s.task, s.name, s.id from unnest($1::text[], $2::text[], $3::text[]) as v (task, name, id)
join {schema}.signal_seen as s on s.task = v.task and s.name = v.name and s.id = v.id

-- name: live_value
-- Returns a published value of a task.
select task, name, value, at from {schema}.live_value where task = $1 and name = $2

-- name: live_values
-- Returns published values of a task.
select task, name, value, at from {schema}.live_value where task = $1 order by name limit $2

-- name: stream_values
-- Returns a page of a stream from a position on.
select task, name, position, value, at
from (
    select *, sum(length(value)) over (order by position) - length(value) as above
    from (
        select task, name, position, value, at from {schema}.stream_value
        where task = $1 and name = $2 and position >= $3 order by position limit $4) as page) as summed
where above < $5 order by position

-- name: streams
-- Returns the streams of a task, each with its number of values, found by stepping from name to name.
with recursive first_values (name) as (
    (select name from {schema}.stream_value where task = $1 order by name limit 1)
    union all
    select (select v.name from {schema}.stream_value as v where v.task = $1 and v.name > first_values.name
            order by v.name limit 1)
    from first_values where first_values.name is not null)
select name,
    (select max(v.position) + 1 from {schema}.stream_value as v where v.task = $1 and v.name = first_values.name)
from first_values where name is not null limit $2

-- name: update
-- Returns an update that a task was asked for.
select task, id, name, state, answer, asked_at, answered_at from {schema}.update_request where task = $1 and id = $2

-- name: ask_update
-- Records that a task is asked for an update.
insert into {schema}.update_request (task, id, name, state, asked_at) values ($1, $2, $3, 'asked', $4)

-- name: workflow
-- Returns the versions of a workflow.
select {workflow} from {schema}.workflow where name = $1 order by registered_at desc, version desc

-- name: workflows
-- Returns all workflows.
select {workflow} from {schema}.workflow order by name, registered_at desc, version desc

-- name: instances
-- Returns the live instances, and those that died after an instant.
select {instance} from {schema}.instance where alive or dead_at > $1 order by started_at, id

-- name: waiting_signals_of
-- Returns how many signals each of the tasks has not received yet, and their bytes; nothing of a task that has none.
select task, count(*), coalesce(sum(octet_length(body)), 0)::bigint from {schema}.inbox
where task = any($1::text[]) and kind = 'signal' group by task

-- name: waiting_signals
-- Returns how many signals the task has not received yet, and their bytes.
select count(*), coalesce(sum(octet_length(body)), 0)::bigint from {schema}.inbox where task = $1 and kind = 'signal'
