-- name: steps
-- Returns every step of a task and locks them until the transaction ends.
select {step} from {schema}.step where task = $1 order by run, number, set_aside_at nulls first for update

-- name: delete_step
-- Deletes step rows that a repair replaces.
delete from {schema}.step as s using unnest($1::text[], $2::integer[], $3::text[]) as v (task, run, key)
where s.task = v.task and s.run = v.run and s.key = v.key

-- name: drop_child_end
-- Deletes the ends of child tasks from their parents' inboxes.
delete from {schema}.inbox as i using unnest($1::text[], $2::text[]) as v (task, name)
where i.task = v.task and i.kind = 'child' and i.name = v.name

-- name: set_deadline
-- Sets the deadline of the whole task.
update {schema}.task set deadline = $2 where uid = $1

-- name: set_priority
-- Sets the priority of the task.
update {schema}.task set priority = $2 where uid = $1
