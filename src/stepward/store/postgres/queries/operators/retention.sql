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

-- name: is_left
-- Returns whether rows of deleted tasks are left.
select exists (select 1 from {schema}.step where task = any($1::text[]))
    or exists (select 1 from {schema}.inbox where task = any($1::text[]))
    or exists (select 1 from {schema}.signal_seen where task = any($1::text[]))

-- name: leftovers
-- Returns deleted tasks that have rows left.
select substr(key, 10) from {schema}.meta where key >= 'leftover/' and key < 'leftover0' order by key limit $1

-- name: note_leftovers
-- Records deleted tasks that have rows left, for the next deletion.
insert into {schema}.meta select 'leftover/' || uid, '' from unnest($1::text[]) as uid on conflict do nothing

-- name: forget_leftovers
-- Removes the record of deleted tasks that have no rows left.
delete from {schema}.meta where key = any(select 'leftover/' || uid from unnest($1::text[]) as uid)
