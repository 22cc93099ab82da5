-- name: insert
-- Tasks whose ids are new, in the order of their ids; those that were inserted.
insert into {schema}.task ({task}) select * from unnest({task_arrays}) on conflict (id) do nothing returning uid

-- name: existing
-- The tasks that have these ids already. What a later run began with says nothing of what was submitted.
select id, uid, workflow, case run when 1 then input end from {schema}.task where id = any($1::text[])

-- name: plan
-- The plan of a workflow, if it has declared one.
select plan from {schema}.workflow where name = $1 and version = $2 and plan is not null
