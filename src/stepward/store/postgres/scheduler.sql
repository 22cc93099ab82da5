-- name: open_claim
-- The instance lives; and what slept until now is pending like the rest: the claim then goes by priority and age
-- alone. What it waited for stays: a wait that goes on is told once.
with alive as materialized (
    select id from {schema}.instance where id = $1 and alive for share),
due as materialized (
    select uid from {schema}.task where {waking} and wake_at <= $2 and exists (select 1 from alive)
    order by wake_at limit $3 for update skip locked),
woken as (
    update {schema}.task as t
    set state = case t.state when 'waiting' then 'pending' else t.state end, wake_at = null
    from due where t.uid = due.uid)
select id from alive

-- name: wake
-- Make tasks claimable whose time has come.
update {schema}.task as t
set state = case t.state when 'waiting' then 'pending' else t.state end, wake_at = null
from (
    select uid from {schema}.task where {waking} and wake_at <= $1 order by wake_at limit $2 for update skip locked
) as due
where t.uid = due.uid

-- name: claim
-- Take the first claimable tasks for the instance, past those that others are taking at this moment; unstarted tells
-- whose start is to be told. They are locked by their uids: the CASE hides that the index of claimable tasks would do.
with candidate as materialized (
    select found.uid, found.priority
    from unnest($1::text[], $2::text[]) as served (workflow, version)
    cross join lateral (
        select uid, priority from {schema}.task
        where {claimable} and workflow = served.workflow and version = served.version
        order by priority desc, uid limit $3 * 4) as found
    order by found.priority desc, found.uid limit $3 * 4),
picked as materialized (
    select t.uid, t.started_at is null and t.state = 'pending' and t.reply_to is not null as unstarted
    from candidate as c join {schema}.task as t on t.uid = c.uid
    where case when t.locked_by is null and t.wake_at is null and t.state in ('pending', 'undoing') then true end
    order by c.priority desc, c.uid limit $3 for update of t skip locked)
update {schema}.task as t
set locked_by = $4, started_at = coalesce(t.started_at, $5),
    state = case t.state when 'undoing' then t.state else 'processing' end
from picked where t.uid = picked.uid
returning {t_task}, picked.unstarted

-- name: tasks
-- Tasks; the caller leaves out those that the instance does not hold.
select {task} from {schema}.task where uid = any($1::text[]) order by uid

-- name: steps
-- The steps of tasks: the current run, or every run of one that is undoing.
select {s_step} from unnest($1::text[], $2::integer[], $3::integer[]) as wanted (task, first, last)
join {schema}.step as s on s.task = wanted.task and s.run between wanted.first and wanted.last

-- name: inbox
-- The inbox rows of tasks.
select {inbox} from {schema}.inbox where task = any($1::text[]) order by number

-- name: read_inbox
-- What came since for tasks that the instance holds, beside the state of the store that this look saw. Each row asks
-- for its task's owner, as rows are few and tasks held are many.
select seen.snapshot, {i_inbox}
from (select pg_current_snapshot()::text as snapshot) as seen
left join lateral (
    select {i_inbox} from {schema}.inbox as i
    where i.number > $1 and (select t.locked_by from {schema}.task as t where t.uid = i.task) = $2
    order by i.number limit $3) as i on true
order by i.number

-- name: read_inbox_since
-- What a former look could not see, whatever its number: transactions do not commit in the order of their numbers.
with news as materialized (
    select {i_inbox} from {schema}.inbox as i
    where i.xid >= pg_snapshot_xmin($4::text::pg_snapshot)
        and not pg_visible_in_snapshot(i.xid, $4::text::pg_snapshot))
select seen.snapshot, {i_inbox}
from (select pg_current_snapshot()::text as snapshot) as seen
left join lateral (
    select {i_inbox} from news as i
    where i.number > $1 and (select t.locked_by from {schema}.task as t where t.uid = i.task) = $2
    order by i.number limit $3) as i on true
order by i.number

-- name: next_wake
-- 0 while something is claimable, else the instant at which something will be.
select case
    when (select uid from {schema}.task where {claimable} order by workflow, version, priority desc, uid limit 1)
        is not null then 0.0::float8
    else (select wake_at from {schema}.task where {waking} order by wake_at limit 1)
end
