-- name: open_claim
-- Returns the instance if it is alive, and makes sleeping tasks pending whose time has come, so that they are claimed
-- by priority, fairness and age. What a task waited for stays, so that a wait that continues is reported once. The
-- second column says whether tasks wait that the rate of their workflow lets start now.
with alive as materialized (
    select id from {schema}.instance where id = $1 and alive for share),
due as materialized (
    select uid from {schema}.task where {waking} and wake_at <= $2 and exists (select 1 from alive)
    order by wake_at limit $3 for update skip locked),
woken as (
    update {schema}.task as t
    set state = case t.state when 'waiting' then 'pending' else t.state end, wake_at = null
    from due where t.uid = due.uid)
select id, exists (select 1 from {schema}.rate_bucket where due_at <= $2) from alive

-- name: wake
-- Makes sleeping tasks claimable whose time has come.
update {schema}.task as t
set state = case t.state when 'waiting' then 'pending' else t.state end, wake_at = null
from (
    select uid from {schema}.task where {waking} and wake_at <= $1 order by wake_at limit $2 for update skip locked
) as due
where t.uid = due.uid

-- name: claim
-- Claims tasks of the highest claimable priority for the instance. Fairness keys take turns, beginning after the key
-- that was last at that priority ($6), oldest task first within a key; rows that other transactions have locked are
-- skipped. No task below priority $7 is claimed, and at $7 none of the keys $8. The cost depends on what is claimed,
-- not on what waits: the query seeks from key to key, and reads up to four times a key's share, because some rows may
-- be skipped. Tasks are locked by their uids: the CASE keeps the planner from the index of claimable tasks. unstarted:
-- whether the start of the task is to be reported; more: whether a claim that was not filled may find others.
with recursive top as materialized (
    select s.workflow, s.version, found.priority
    from unnest($1::text[], $2::text[]) as s (workflow, version)
    cross join lateral (
        select priority from {schema}.task
        where {claimable} and workflow = s.workflow and version = s.version and priority >= $7
        order by priority desc limit 1) as found),
level as materialized (
    select max(priority) as priority, coalesce(($6::text[])[max(priority) + 1], '') as last from top),
served as materialized (
    select t.workflow, t.version, l.priority from top as t join level as l on l.priority = t.priority),
head as materialized (
    select found.key from served as s cross join lateral (
        select {key} as key from {schema}.task
        where {claimable} and workflow = s.workflow and version = s.version and priority = s.priority
        order by {key} limit 1) as found
    order by found.key limit 1),
ring (key, lap, place) as (
    select last collate "C", 0, 0 from level
    union all
    select next.key, next.lap, r.place + 1
    from ring as r cross join level as l cross join lateral (
        (select ahead.key, r.lap as lap
        from served as s cross join lateral (
            select {key} as key from {schema}.task
            where {claimable} and workflow = s.workflow and version = s.version and priority = s.priority
                and {key} > r.key
            order by {key} limit 1) as ahead
        order by ahead.key limit 1)
        union all
        (select key, 1 from head where r.lap = 0)
        order by lap limit 1) as next
    where r.place < $3 + cardinality($8::text[]) and (next.lap = 0 or next.key <= l.last)),
turn as materialized (
    select r.key, r.place, greatest(1, $3 * 4 / count(*) over ()) as part
    from ring as r cross join level as l
    where r.place > 0 and not (l.priority = $7 and r.key = any($8::text[]))),
candidate as materialized (
    select found.uid, found.round, t.place, t.part
    from turn as t cross join lateral (
        select each.uid, row_number() over (order by each.uid) as round
        from served as s cross join lateral (
            select uid from {schema}.task
            where {claimable} and workflow = s.workflow and version = s.version and priority = s.priority
                and {key} = t.key
            order by uid limit t.part) as each
        order by each.uid limit t.part) as found),
picked as materialized (
    select t.uid, c.round, c.place, t.started_at is null and t.state = 'pending' and (t.reply_to is not null or t.events_to is not null) as unstarted
    from candidate as c join {schema}.task as t on t.uid = c.uid
    where case when t.locked_by is null and t.wake_at is null and t.state in ('pending', 'undoing') then true end
    order by c.round, c.place limit $3 for update of t skip locked)
update {schema}.task as t
set locked_by = $4, started_at = coalesce(t.started_at, $5), complete_by = $9,
    state = case t.state when 'undoing' then t.state else 'processing' end
from picked where t.uid = picked.uid
returning {t_task}, picked.round, picked.place, picked.unstarted, (
    (select max(place) from ring) >= $3 + cardinality($8::text[])
    or (select max(round) >= max(part) from candidate)
    or exists (select 1 from top as t join level as l on t.priority < l.priority)
    or exists (
        select 1 from served as s cross join lateral (
            select 1 from {schema}.task
            where {claimable} and workflow = s.workflow and version = s.version
                and priority < s.priority and priority >= $7
            limit 1) as lower)) as more

-- name: tasks
-- Returns tasks; the caller leaves out those that the instance does not hold.
select {task} from {schema}.task where uid = any($1::text[]) order by uid

-- name: steps
-- Returns the steps of tasks: of the current run, or of every run of a task that is undoing.
select {s_step} from unnest($1::text[], $2::integer[], $3::integer[]) as wanted (task, first, last)
join {schema}.step as s on s.task = wanted.task and s.run between wanted.first and wanted.last

-- name: inbox
-- Returns the inbox rows of tasks.
select {inbox} from {schema}.inbox where task = any($1::text[]) order by number

-- name: read_inbox
-- Returns the inbox rows after a number for tasks that the instance holds, with the snapshot of this query. The owner
-- is looked up row by row: the rows are few, the tasks held are many.
select seen.snapshot, {i_inbox}
from (select pg_current_snapshot()::text as snapshot) as seen
left join lateral (
    select {i_inbox} from {schema}.inbox as i
    where i.number > $1 and (select t.locked_by from {schema}.task as t where t.uid = i.task) = $2
    order by i.number limit $3) as i on true
order by i.number

-- name: read_inbox_since
-- Returns the rows that an earlier snapshot could not see, whatever their number: transactions do not commit in the
-- order of their numbers.
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
-- Returns 0 while a task is claimable, else the instant at which the next one becomes claimable.
select case
    when (select uid from {schema}.task where {claimable} order by workflow, version, priority desc limit 1)
        is not null then 0.0::float8
    else least(
        (select wake_at from {schema}.task where {waking} order by wake_at limit 1),
        (select due_at from {schema}.rate_bucket where due_at is not null order by due_at limit 1))
end
