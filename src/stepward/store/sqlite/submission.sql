-- name: existing
-- The tasks that have these ids (a JSON array) already.
select t.id, t.uid, t.workflow, t.input
from json_each(?1) as wanted cross join stepward_task as t on t.id = wanted.value

-- name: insert
-- A new task.
insert into stepward_task ({task}) values ({task_places})
