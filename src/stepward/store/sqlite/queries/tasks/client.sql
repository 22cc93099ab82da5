-- name: task
-- Returns the task with that id.
select {task} from stepward_task where id = ?1

-- name: lock_task
-- Returns the task with that id, for a change; the write transaction holds the whole file.
select {task} from stepward_task where id = ?1

-- name: steps
-- Returns all steps of the task with that id.
select {s_step} from stepward_task as t cross join stepward_step as s on s.task = t.uid
where t.id = ?1
order by s.run, s.number, s.set_aside_at is null, s.set_aside_at

-- name: tallies
-- Returns the steps of each task (a JSON array of uids) and how many of them are completed or undone, without those
-- that a repair set aside.
select w.value, count(s.key), coalesce(sum(s.state in ('completed', 'undone')), 0),
    coalesce(json_group_array(distinct s.key) filter (
        where s.state = 'completed' and s.kind <> 'undo' and s.key in (select value from json_each(?2))), '[]'),
    count(distinct s.key) filter (where s.state = 'completed' and s.kind <> 'undo')
from json_each(?1) as w left join stepward_step as s on s.task = w.value and s.set_aside_at is null
group by w.value

-- name: ended
-- Returns those of the tasks (a JSON array of uids) that have ended.
select {t_task} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value
where t.state in {ends}

-- name: see_signal
-- Records the id of a signal; changes nothing if it is already recorded.
insert into stepward_signal_seen (task, name, id, run) values (?1, ?2, ?3, ?4) on conflict do nothing

-- name: live_value
-- Returns a published value of a task.
select task, name, value, at from stepward_live_value where task = ?1 and name = ?2

-- name: live_values
-- Returns published values of a task.
select task, name, value, at from stepward_live_value where task = ?1 order by name limit ?2

-- name: stream_values
-- Returns a page of a stream from a position on.
with page as (
    select position, sum(bytes) over (order by position) - bytes as above
    from (
        select position, length(value) as bytes from stepward_stream_value
        where task = ?1 and name = ?2 and position >= ?3 order by position limit ?4))
select v.task, v.name, v.position, v.value, v.at
from page cross join stepward_stream_value as v on v.task = ?1 and v.name = ?2 and v.position = page.position
where page.above < ?5 order by v.position

-- name: streams
-- Returns the streams of a task, each with its number of values, found by stepping from name to name.
with recursive first_values (name) as (
    select min(name) from stepward_stream_value where task = ?1
    union all
    select (select min(v.name) from stepward_stream_value as v where v.task = ?1 and v.name > first_values.name)
    from first_values where first_values.name is not null)
select name,
    (select max(v.position) + 1 from stepward_stream_value as v where v.task = ?1 and v.name = first_values.name)
from first_values where name is not null limit ?2

-- name: update
-- Returns an update that a task was asked for.
select task, id, name, state, answer, asked_at, answered_at from stepward_update_request where task = ?1 and id = ?2

-- name: ask_update
-- Records that a task is asked for an update.
insert into stepward_update_request (task, id, name, state, asked_at) values (?1, ?2, ?3, 'asked', ?4)

-- name: workflow
-- Returns the versions of a workflow.
select {workflow} from stepward_workflow where name = ?1 order by registered_at desc, version desc

-- name: workflows
-- Returns all workflows.
select {workflow} from stepward_workflow order by name, registered_at desc, version desc

-- name: instances
-- Returns the live instances, and those that died after an instant.
select {instance} from stepward_instance where alive = 1 or dead_at > ?1 order by started_at, id

-- name: waiting_signals
-- Returns how many signals the task has not received yet, and their bytes.
select count(*), coalesce(sum(length(body)), 0) from stepward_inbox where task = ?1 and kind = 'signal'
