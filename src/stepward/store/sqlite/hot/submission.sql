-- name: existing
-- The tasks that have these ids (a JSON array) already.
-- What a later run began with says nothing of what was submitted.
select t.id, t.uid, t.workflow, case t.run when 1 then t.input end
from json_each(?1) as wanted cross join stepward_task as t on t.id = wanted.value

-- name: insert
-- A task whose id is new; its uid if it was inserted.
insert into stepward_task ({task}) values ({task_places}) on conflict (id) do nothing returning uid

-- name: plan
-- The plan of a workflow, if it has declared one.
select plan from stepward_workflow where name = ?1 and version = ?2 and plan is not null
