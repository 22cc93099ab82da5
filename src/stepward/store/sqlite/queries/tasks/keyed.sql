-- name: lock
-- Inserts the row of a key for the task if there is none, and returns it; the write transaction holds the whole file.
insert into stepward_submission_key as k (workflow, rule, key, task, since) values (?1, ?2, ?3, ?4, ?5)
on conflict (workflow, rule, key) do update set task = k.task
returning task, predecessor, since

-- name: forget
-- Deletes the row of a key.
delete from stepward_submission_key where workflow = ?1 and rule = ?2 and key = ?3

-- name: forget_old
-- Deletes up to ?2 keys whose window is over.
delete from stepward_submission_key
where (workflow, rule, key) in (
    select workflow, rule, key from stepward_submission_key where until <= ?1 order by until limit ?2)

-- name: hold
-- Records which task holds a key.
update stepward_submission_key set task = ?4, predecessor = ?5, since = ?6, until = ?7
where workflow = ?1 and rule = ?2 and key = ?3

-- name: holder
-- Returns a task.
select {task} from stepward_task where uid = ?1

-- name: joined
-- Returns the task that the submission of an id joined.
select t.uid, t.id, t.workflow
from stepward_joined_submission as j cross join stepward_task as t on t.uid = j.task
where j.id = ?1

-- name: record
-- Records that the submission of an id joined a task.
insert into stepward_joined_submission (id, task) values (?1, ?2) on conflict do nothing

-- name: known
-- Returns those of the ids that belong to a task, or to a submission that joined one.
select id from stepward_task where id in (select value from json_each(?1))
union all
select id from stepward_joined_submission where id in (select value from json_each(?1))

-- name: postpone
-- Replaces the arguments of a delayed task and moves its start, unless its time has come.
update stepward_task set input = ?2, wake_at = ?3
where uid = ?1 and state = 'pending' and started_at is null and locked_by is null and wake_at > ?4

-- name: follow
-- Records which task is woken, as it replaces another, when the other ends.
insert into stepward_task_permit (task, name, key, held, priority, next_task) values (?1, '', '', 0, 0, ?2)
on conflict (task) do update set next_task = excluded.next_task

-- name: blocked
-- Returns those of the tasks that replace one which has not ended.
select k.task
from json_each(?1) as wanted
cross join stepward_submission_key as k on k.task = wanted.value
cross join stepward_task as t on t.uid = k.predecessor
where t.state not in {ends}

-- name: park
-- Lets claimed tasks wait for the end of the task that they replace, without an owner.
update stepward_task
set state = 'waiting', locked_by = null, complete_by = null, wake_at = null, started_at = null
where uid = ?1
