-- name: existing
-- Returns the tasks that have these ids (a JSON array) already. The input of a later run is not what was submitted.
select t.id, t.uid, t.workflow, case t.run when 1 then t.input end
from json_each(?1) as wanted cross join stepward_task as t on t.id = wanted.value

-- name: insert
-- Inserts a task whose id is new; returns, if it was inserted, its uid and the shards that the store holds, if it is a
-- partition.
insert into stepward_task ({task}) values ({task_places}) on conflict (id) do nothing
returning uid, (select value ->> 'shards' from stepward_meta where key = 'partition')

-- name: declared
-- Returns the plan of a workflow, if it declares one, and the webhooks of its tasks.
select plan, events_to from stepward_workflow where name = ?1 and version = ?2
