-- name: outlived
-- Tasks that ended well before an instant, oldest first, each with what deleting it costs; past a number of rows the
-- rest is not looked at.
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
-- A page of tasks.
with page as materialized (
    select uid, sum(bytes) over (order by uid) - bytes as above
    from (
        select uid, octet_length(input) + coalesce(octet_length(output), 0) + coalesce(octet_length(error), 0) as bytes
        from {schema}.task where uid = any($1::text[]) and uid > $2
        order by uid limit $3) as found)
select {t_task} from page join {schema}.task as t on t.uid = page.uid
where page.above < $4 order by t.uid

-- name: steps
-- A page of the steps of tasks.
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
-- A page of what came for tasks and was never taken.
with page as materialized (
    select number, sum(bytes) over (order by task, number) - bytes as above
    from (
        select task, number, octet_length(body) as bytes from {schema}.inbox
        where task = any($1::text[]) and (task, number) > ($2, $3)
        order by task, number limit $4) as found)
select {i_inbox} from page join {schema}.inbox as i on i.number = page.number
where page.above < $5 order by i.task, i.number

-- name: signals
-- A page of the ids of the signals of tasks.
select task, name, id from {schema}.signal_seen
where task = any($1::text[]) and (task, name, id) > ($2, $3, $4)
order by task, name, id limit $5

-- name: standing
-- Those of the tasks that ended other than in error and that nobody needs any more. They are found by their uids: the
-- CASE hides that the index of finished tasks would do.
select uid, finished_at from {schema}.task as t
where uid = any($1::text[]) and case when finished_at is not null and state <> 'error' then true end
    and {parent_is_over}

-- name: lock_standing
-- The same, held until the transaction ends, past those that somebody is moving at this moment.
select uid, finished_at from {schema}.task as t
where uid = any($1::text[]) and case when finished_at is not null and state <> 'error' then true end
    and {parent_is_over}
order by uid for update skip locked

-- name: purge_tasks
-- The tasks themselves.
delete from {schema}.task where uid = any($1::text[])

-- name: purge_steps
-- Of their steps as many as one transaction should delete.
delete from {schema}.step where ctid = any(array(
    select place
    from (
        select place, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select s.ctid as place, {s_bytes} as bytes from {schema}.step as s where s.task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_inbox
-- Of their inbox rows as many as one transaction should delete.
delete from {schema}.inbox where number = any(array(
    select number
    from (
        select number, sum(bytes) over (rows unbounded preceding) - bytes as above
        from (
            select number, octet_length(body) as bytes from {schema}.inbox where task = any($1::text[])
            limit $2) as found) as page
    where above < $3))

-- name: purge_signals
-- Of the ids of their signals as many as one transaction should delete.
delete from {schema}.signal_seen where ctid = any(array(
    select ctid from {schema}.signal_seen where task = any($1::text[]) limit $2))

-- name: is_left
-- Whether something of deleted tasks is left.
select exists (select 1 from {schema}.step where task = any($1::text[]))
    or exists (select 1 from {schema}.inbox where task = any($1::text[]))
    or exists (select 1 from {schema}.signal_seen where task = any($1::text[]))

-- name: leftovers
-- The deleted tasks of which something is left.
select substr(key, 10) from {schema}.meta where key >= 'leftover/' and key < 'leftover0' order by key limit $1

-- name: note_leftovers
-- The next deletion goes on with these.
insert into {schema}.meta select 'leftover/' || uid, '' from unnest($1::text[]) as uid on conflict do nothing

-- name: forget_leftovers
-- Nothing of them is left.
delete from {schema}.meta where key = any(select 'leftover/' || uid from unnest($1::text[]) as uid)
