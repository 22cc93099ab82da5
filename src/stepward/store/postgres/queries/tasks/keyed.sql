-- name: lock
-- Locks the row of a key until the transaction ends, and inserts it for the task if there is none; returns it.
insert into {schema}.submission_key as k (workflow, rule, key, task, since) values ($1, $2, $3, $4, $5)
on conflict (workflow, rule, key) do update set task = k.task
returning k.task, k.predecessor, k.since

-- name: forget
-- Deletes the row of a key.
delete from {schema}.submission_key where workflow = $1 and rule = $2 and key = $3

-- name: forget_old
-- Deletes up to $2 keys whose window is over.
delete from {schema}.submission_key as k
using (
    select workflow, rule, key from {schema}.submission_key where until <= $1 order by until limit $2
    for update skip locked) as o
where k.workflow = o.workflow and k.rule = o.rule and k.key = o.key

-- name: hold
-- Records which task holds a key.
update {schema}.submission_key set task = $4, predecessor = $5, since = $6, until = $7
where workflow = $1 and rule = $2 and key = $3

-- name: holder
-- Returns a task.
select {task} from {schema}.task where uid = $1

-- name: joined
-- Returns the task that the submission of an id joined.
select t.uid, t.id, t.workflow from {schema}.joined_submission as j join {schema}.task as t on t.uid = j.task where j.id = $1

-- name: record
-- Records that the submission of an id joined a task.
insert into {schema}.joined_submission (id, task) values ($1, $2) on conflict do nothing

-- name: known
-- Returns those of the ids that belong to a task, or to a submission that joined one.
select id from {schema}.task where id = any($1::text[])
union all
select id from {schema}.joined_submission where id = any($1::text[])

-- name: postpone
-- Replaces the arguments of a delayed task and moves its start, unless its time has come. The CASE keeps the planner from
-- the indexes of pending tasks.
update {schema}.task set input = $2, wake_at = $3
where uid = $1
    and case when state = 'pending' and started_at is null and locked_by is null and wake_at > $4 then true end

-- name: follow
-- Records which task is woken, as it replaces another, when the other ends.
insert into {schema}.task_permit (task, name, key, held, priority, next_task) values ($1, '', '', false, 0, $2)
on conflict (task) do update set next_task = excluded.next_task

-- name: blocked
-- Returns those of the tasks that replace one which has not ended.
select k.task from {schema}.submission_key as k join {schema}.task as t on t.uid = k.predecessor
where k.task = any($1::text[]) and t.state not in {ends}

-- name: park
-- Lets claimed tasks wait for the end of the task that they replace, without an owner.
update {schema}.task as t
set state = 'waiting', locked_by = null, complete_by = null, wake_at = null, started_at = null
from unnest($1::text[]) as v (uid)
where t.uid = v.uid
