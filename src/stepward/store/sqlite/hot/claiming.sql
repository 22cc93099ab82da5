-- name: tops
-- Returns the highest claimable priority of each workflow (a JSON array of pairs), if it is at least ?2.
select wanted.value ->> 0, wanted.value ->> 1, (
    select priority from stepward_task
    where {claimable} and workflow = wanted.value ->> 0 and version = wanted.value ->> 1 and priority >= ?2
    order by priority desc limit 1)
from json_each(?1) as wanted

-- name: ring
-- Returns the first ?4 fairness keys that are claimable at one priority, from ?3 on, by seeking from key to key over
-- all the workflows.
with recursive
wanted (workflow, version) as materialized (select value ->> 0, value ->> 1 from json_each(?1)),
ring (key) as (
    select min((
        select {key} from stepward_task
        where {claimable} and workflow = wanted.workflow and version = wanted.version and priority = ?2
            and {key} >= ?3
        order by {key} limit 1))
    from wanted
    union all
    select (
        select min((
            select {key} from stepward_task
            where {claimable} and workflow = wanted.workflow and version = wanted.version and priority = ?2
                and {key} > ring.key
            order by {key} limit 1))
        from wanted)
    from ring where ring.key is not null)
select key from ring where key is not null limit ?4

-- name: line
-- Returns the oldest claimable tasks of one workflow, priority and fairness key.
select rowid, uid from stepward_task
where {claimable} and workflow = ?1 and version = ?2 and priority = ?3 and {key} = ?4 order by uid limit ?5

-- name: unstarted
-- Returns those of the rows (a JSON array of rowids) whose start is to be reported.
select t.uid from json_each(?1) as wanted cross join stepward_task as t on t.rowid = wanted.value
where (t.reply_to is not null or t.events_to is not null) and t.started_at is null and t.state = 'pending'

-- name: claim
-- Claims the rows (a JSON array of rowids) for the instance.
update stepward_task
set locked_by = ?2, started_at = coalesce(started_at, ?3), complete_by = ?4,
    state = case state when 'undoing' then state else 'processing' end
where rowid in (select value from json_each(?1))
returning {task}
