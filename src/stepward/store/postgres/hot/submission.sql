-- name: insert
-- Inserts tasks whose ids are new, in the order of their ids; returns those that were inserted.
insert into {schema}.task ({task}) select * from unnest({task_arrays}) on conflict (id) do nothing returning uid

-- name: insert_compact
-- The same for tasks that have only what was submitted; the other columns are constants.
insert into {schema}.task ({task_others}, {task_compact})
select v.*, {task_values} from unnest({task_other_arrays}) as v on conflict (id) do nothing returning uid

-- name: insert_alike
-- The same for tasks that are alike in what is usually so: one value each.
insert into {schema}.task ({task_unlike}, {task_alike}, {task_compact})
select v.*, {task_scalars}, {task_values} from unnest({task_unlike_arrays}) as v on conflict (id) do nothing returning uid

-- name: existing
-- Returns the tasks that have these ids already. The input of a later run is not what was submitted.
select id, uid, workflow, case run when 1 then input end from {schema}.task where id = any($1::text[])

-- name: declared
-- Returns the plan of a workflow, if it declares one, and the webhooks of its tasks.
select plan, events_to from {schema}.workflow where name = $1 and version = $2
