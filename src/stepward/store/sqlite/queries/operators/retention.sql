-- name: outlived
-- Returns tasks that ended before an instant, oldest first, each with its rows and bytes to delete; reads at most a
-- bounded number of rows.
select uid, finished_at, count(*), sum(bytes)
from (
    select t.uid, t.finished_at, {s_bytes} as bytes
    from (
        select uid, finished_at from stepward_task as t
        where finished_at is not null and state <> 'error' and finished_at < ?1 and {parent_is_over}
        order by finished_at limit ?2) as t
    left join stepward_step as s on s.task = t.uid
    limit ?3)
group by uid, finished_at order by finished_at, uid

-- name: tasks
-- Returns a page of tasks.
with page as (
    select uid, sum(bytes) over (order by uid) - bytes as above
    from (
        select uid, length(input) + coalesce(length(output), 0) + coalesce(length(error), 0) as bytes
        from stepward_task
        where uid in (select value from json_each(?1)) and uid > ?2
        order by uid limit ?3))
select {t_task} from page cross join stepward_task as t on t.uid = page.uid
where page.above < ?4 order by t.uid

-- name: steps
-- Returns a page of the steps of tasks.
with page as (
    select task, run, key, sum(bytes) over (order by task, run, number) - bytes as above
    from (
        select s.task, s.run, s.key, s.number, {s_bytes} as bytes
        from stepward_step as s
        where s.task in (select value from json_each(?1)) and (s.task, s.run, s.number) > (?2, ?3, ?4)
        order by s.task, s.run, s.number limit ?5))
select {s_step}
from page cross join stepward_step as s on s.task = page.task and s.run = page.run and s.key = page.key
where page.above < ?6 order by s.task, s.run, s.number

-- name: inbox
-- Returns a page of the inbox rows that were never taken.
with page as (
    select number, sum(bytes) over (order by task, number) - bytes as above
    from (
        select task, number, length(body) as bytes from stepward_inbox
        where task in (select value from json_each(?1)) and (task, number) > (?2, ?3)
        order by task, number limit ?4))
select {i_inbox} from page cross join stepward_inbox as i on i.number = page.number
where page.above < ?5 order by i.task, i.number

-- name: signals
-- Returns a page of the signal ids of tasks.
select task, name, id from stepward_signal_seen
where task in (select value from json_each(?1)) and (task, name, id) > (?2, ?3, ?4)
order by task, name, id limit ?5

-- name: values
-- Returns a page of the published values of tasks.
with page as (
    select task, name, sum(bytes) over (order by task, name) - bytes as above
    from (
        select task, name, length(value) as bytes from stepward_live_value
        where task in (select value from json_each(?1)) and (task, name) > (?2, ?3)
        order by task, name limit ?4))
select r.task, r.name, r.value, r.at
from page cross join stepward_live_value as r on r.task = page.task and r.name = page.name
where page.above < ?5 order by r.task, r.name

-- name: streams
-- Returns a page of the streams of tasks.
with page as (
    select task, name, position, sum(bytes) over (order by task, name, position) - bytes as above
    from (
        select task, name, position, length(value) as bytes from stepward_stream_value
        where task in (select value from json_each(?1)) and (task, name, position) > (?2, ?3, ?4)
        order by task, name, position limit ?5))
select r.task, r.name, r.position, r.value, r.at
from page cross join stepward_stream_value as r on r.task = page.task and r.name = page.name and r.position = page.position
where page.above < ?6 order by r.task, r.name, r.position

-- name: updates
-- Returns a page of the updates that tasks were asked for.
with page as (
    select task, id, sum(bytes) over (order by task, id) - bytes as above
    from (
        select task, id, length(coalesce(answer, '')) as bytes from stepward_update_request
        where task in (select value from json_each(?1)) and (task, id) > (?2, ?3)
        order by task, id limit ?4))
select r.task, r.id, r.name, r.state, r.answer, r.asked_at, r.answered_at
from page cross join stepward_update_request as r on r.task = page.task and r.id = page.id
where page.above < ?5 order by r.task, r.id

-- name: standing
-- Returns those of the tasks that ended other than in error and whose parents, if any, have ended or no longer record
-- them.
select uid, finished_at from stepward_task as t
where uid in (select value from json_each(?1)) and finished_at is not null and state <> 'error' and {parent_is_over}

-- name: lock_standing
-- The same, for their deletion; the write transaction holds the whole file.
select uid, finished_at from stepward_task as t
where uid in (select value from json_each(?1)) and finished_at is not null and state <> 'error' and {parent_is_over}
order by uid

-- name: purge_tasks
-- Deletes tasks (a JSON array of uids).
delete from stepward_task where uid in (select value from json_each(?1))

-- name: purge_steps
-- Deletes at most a bounded number of the steps of these tasks.
delete from stepward_step where rowid in (
    select rowid
    from (
        select rowid, sum(bytes) over (order by rowid) - bytes as above
        from (
            select s.rowid, {s_bytes} as bytes from stepward_step as s
            where s.task in (select value from json_each(?1)) limit ?2))
    where above < ?3)

-- name: purge_inbox
-- Deletes at most a bounded number of the inbox rows of these tasks.
delete from stepward_inbox where number in (
    select number
    from (
        select number, sum(bytes) over (order by number) - bytes as above
        from (
            select number, length(body) as bytes from stepward_inbox
            where task in (select value from json_each(?1)) limit ?2))
    where above < ?3)

-- name: purge_signals
-- Deletes at most a bounded number of the signal ids of these tasks.
delete from stepward_signal_seen where (task, name, id) in (
    select task, name, id from stepward_signal_seen where task in (select value from json_each(?1)) limit ?2)

-- name: purge_values
-- Deletes at most a bounded number of the published values of these tasks.
delete from stepward_live_value where (task, name) in (
    select task, name
    from (
        select task, name, sum(bytes) over (order by task, name) - bytes as above
        from (
            select task, name, length(value) as bytes from stepward_live_value
            where task in (select value from json_each(?1)) limit ?2))
    where above < ?3)

-- name: purge_streams
-- Deletes at most a bounded number of the values of streams of these tasks.
delete from stepward_stream_value where (task, name, position) in (
    select task, name, position
    from (
        select task, name, position, sum(bytes) over (order by task, name, position) - bytes as above
        from (
            select task, name, position, length(value) as bytes from stepward_stream_value
            where task in (select value from json_each(?1)) limit ?2))
    where above < ?3)

-- name: purge_updates
-- Deletes at most a bounded number of the updates of these tasks.
delete from stepward_update_request where (task, id) in (
    select task, id
    from (
        select task, id, sum(bytes) over (order by task, id) - bytes as above
        from (
            select task, id, length(coalesce(answer, '')) as bytes from stepward_update_request
            where task in (select value from json_each(?1)) limit ?2))
    where above < ?3)

-- name: purge_joined
-- Deletes at most a bounded number of the records of submissions that joined these tasks.
delete from stepward_joined_submission where id in (
    select id from stepward_joined_submission where task in (select value from json_each(?1)) limit ?2)

-- name: forget_keys
-- Deletes the keys that these tasks hold, those whose window is not over left out.
delete from stepward_submission_key where task in (select value from json_each(?1)) and until is null

-- name: is_left
-- Returns whether rows of deleted tasks are left.
select exists (select 1 from stepward_step where task in (select value from json_each(?1)))
    or exists (select 1 from stepward_inbox where task in (select value from json_each(?1)))
    or exists (select 1 from stepward_signal_seen where task in (select value from json_each(?1)))
    or exists (select 1 from stepward_live_value where task in (select value from json_each(?1)))
    or exists (select 1 from stepward_stream_value where task in (select value from json_each(?1)))
    or exists (select 1 from stepward_update_request where task in (select value from json_each(?1)))
    or exists (select 1 from stepward_joined_submission where task in (select value from json_each(?1)))

-- name: leftovers
-- Returns deleted tasks that have rows left.
select substr(key, 10) from stepward_meta where key >= 'leftover/' and key < 'leftover0' order by key limit ?1

-- name: note_leftovers
-- Records deleted tasks that have rows left, for the next deletion.
insert into stepward_meta select 'leftover/' || value, '' from json_each(?1) where true on conflict do nothing

-- name: forget_leftovers
-- Removes the record of deleted tasks that have no rows left.
delete from stepward_meta where key in (select 'leftover/' || value from json_each(?1))
