-- name: outlived
-- Returns tasks that ended before an instant, oldest first, each with its rows and bytes to delete; reads at most a
-- bounded number of rows.
select uid, finished_at, count(*), sum(bytes)::bigint
from (
    select t.uid, t.finished_at, {s_bytes} as bytes
    from (
        select uid, finished_at from {schema}.task as t
        where finished_at is not null and state <> 'error' and finished_at < $1 and {parent_is_over}
        order by finished_at limit $2) as t
    left join {schema}.step as s on s.task = t.uid
    limit $3) as weighed
group by uid, finished_at order by finished_at, uid

-- name: tasks
-- Returns a page of tasks.
with page as materialized (
    select uid, sum(bytes) over (order by uid) - bytes as above
    from (
        select uid, octet_length(input) + coalesce(octet_length(output), 0) + coalesce(octet_length(error), 0) as bytes
        from {schema}.task where uid = any($1::text[]) and uid > $2
        order by uid limit $3) as found)
select {t_task} from page join {schema}.task as t on t.uid = page.uid
where page.above < $4 order by t.uid

-- name: steps
-- Returns a page of the steps of tasks.
with page as materialized (
    select task, run, key, sum(bytes) over (order by task, run, number) - bytes as above
    from (
        select s.task, s.run, s.key, s.number, {s_bytes} as bytes from {schema}.step as s
        where s.task = any($1::text[]) and (s.task, s.run, s.number) > ($2, $3, $4)
        order by s.task, s.run, s.number limit $5) as found)
select {s_step}
from page join {schema}.step as s on s.task = page.task and s.run = page.run and s.key = page.key
where page.above < $6 order by s.task, s.run, s.number

-- name: inbox
-- Returns a page of the inbox rows that were never taken.
with page as materialized (
    select number, sum(bytes) over (order by task, number) - bytes as above
    from (
        select task, number, octet_length(body) as bytes from {schema}.inbox
        where task = any($1::text[]) and (task, number) > ($2, $3)
        order by task, number limit $4) as found)
select {i_inbox} from page join {schema}.inbox as i on i.number = page.number
where page.above < $5 order by i.task, i.number

-- name: signals
-- Returns a page of the signal ids of tasks.
select task, name, id from {schema}.signal_seen
where task = any($1::text[]) and (task, name, id) > ($2, $3, $4)
order by task, name, id limit $5

-- name: values
-- Returns a page of the published values of tasks.
with page as materialized (
    select task, name, sum(bytes) over (order by task, name) - bytes as above
    from (
        select task, name, octet_length(value) as bytes from {schema}.live_value
        where task = any($1::text[]) and (task, name) > ($2, $3)
        order by task, name limit $4) as found)
select r.task, r.name, r.value, r.at
from page join {schema}.live_value as r on r.task = page.task and r.name = page.name
where page.above < $5 order by r.task, r.name

-- name: streams
-- Returns a page of the streams of tasks.
with page as materialized (
    select task, name, position, sum(bytes) over (order by task, name, position) - bytes as above
    from (
        select task, name, position, octet_length(value) as bytes from {schema}.stream_value
        where task = any($1::text[]) and (task, name, position) > ($2, $3, $4)
        order by task, name, position limit $5) as found)
select r.task, r.name, r.position, r.value, r.at
from page join {schema}.stream_value as r on r.task = page.task and r.name = page.name and r.position = page.position
where page.above < $6 order by r.task, r.name, r.position

-- name: updates
-- Returns a page of the updates that tasks were asked for.
with page as materialized (
    select task, id, sum(bytes) over (order by task, id) - bytes as above
    from (
        select task, id, octet_length(coalesce(answer, ''::bytea)) as bytes from {schema}.update_request
        where task = any($1::text[]) and (task, id) > ($2, $3)
        order by task, id limit $4) as found)
select r.task, r.id, r.name, r.state, r.answer, r.asked_at, r.answered_at
from page join {schema}.update_request as r on r.task = page.task and r.id = page.id
where page.above < $5 order by r.task, r.id

-- name: standing
-- Returns those of the tasks that ended other than in error and whose parents, if any, have ended or no longer record
-- them. Found by their uids: the CASE keeps the planner from the index of finished tasks.
select uid, finished_at from {schema}.task as t
where uid = any($1::text[]) and case when finished_at is not null and state <> 'error' then true end
    and {parent_is_over}

-- name: lock_standing
-- The same, locked until the transaction ends; rows that other transactions have locked are skipped.
select uid, finished_at from {schema}.task as t
where uid = any($1::text[]) and case when finished_at is not null and state <> 'error' then true end
    and {parent_is_over}
order by uid for update skip locked

-- name: purge_tasks
-- Deletes tasks.
delete from {schema}.task where uid = any($1::text[])

-- name: purge_steps
-- Deletes at most a bounded number of the steps of these tasks.
delete from {schema}.step where ctid = any(array(
    select place
    from (
        select place, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select s.ctid as place, {s_bytes} as bytes from {schema}.step as s where s.task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_inbox
-- Deletes at most a bounded number of the inbox rows of these tasks.
delete from {schema}.inbox where number = any(array(
    select number
    from (
        select number, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select number, octet_length(body) as bytes from {schema}.inbox where task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_signals
-- Deletes at most a bounded number of the signal ids of these tasks.
delete from {schema}.signal_seen where ctid = any(array(
    select ctid from {schema}.signal_seen where task = any($1::text[]) limit $2))

-- name: purge_values
-- Deletes at most a bounded number of the published values of these tasks.
delete from {schema}.live_value where ctid = any(array(
    select place
    from (
        select place, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select ctid as place, octet_length(value) as bytes from {schema}.live_value where task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_streams
-- Deletes at most a bounded number of the values of streams of these tasks.
delete from {schema}.stream_value where ctid = any(array(
    select place
    from (
        select place, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select ctid as place, octet_length(value) as bytes from {schema}.stream_value where task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_updates
-- Deletes at most a bounded number of the updates of these tasks.
delete from {schema}.update_request where ctid = any(array(
    select place
    from (
        select place, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select ctid as place, octet_length(coalesce(answer, ''::bytea)) as bytes from {schema}.update_request
            where task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_joined
-- Deletes at most a bounded number of the records of submissions that joined these tasks.
delete from {schema}.joined_submission where ctid = any(array(
    select ctid from {schema}.joined_submission where task = any($1::text[]) limit $2))

-- name: forget_keys
-- Deletes the keys that these tasks hold, those whose window is not over left out.
delete from {schema}.submission_key where task = any($1::text[]) and until is null

-- name: is_left
-- Returns whether rows of deleted tasks are left.
select exists (select 1 from {schema}.step where task = any($1::text[]))
    or exists (select 1 from {schema}.inbox where task = any($1::text[]))
    or exists (select 1 from {schema}.signal_seen where task = any($1::text[]))
    or exists (select 1 from {schema}.live_value where task = any($1::text[]))
    or exists (select 1 from {schema}.stream_value where task = any($1::text[]))
    or exists (select 1 from {schema}.update_request where task = any($1::text[]))
    or exists (select 1 from {schema}.joined_submission where task = any($1::text[]))

-- name: leftovers
-- Returns deleted tasks that have rows left.
select substr(key, 10) from {schema}.meta where key >= 'leftover/' and key < 'leftover0' order by key limit $1

-- name: note_leftovers
-- Records deleted tasks that have rows left, for the next deletion.
insert into {schema}.meta select 'leftover/' || uid, '' from unnest($1::text[]) as uid on conflict do nothing

-- name: forget_leftovers
-- Removes the record of deleted tasks that have no rows left.
delete from {schema}.meta where key = any(select 'leftover/' || uid from unnest($1::text[]) as uid)
