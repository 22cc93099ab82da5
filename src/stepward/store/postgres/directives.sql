-- name: steps
-- Every step of a task, as they stand until the transaction ends.
select {step} from {schema}.step where task = $1 order by run, number, set_aside_at nulls first for update

-- name: delete_step
-- Rows that a repair replaces.
delete from {schema}.step as s using unnest($1::text[], $2::integer[], $3::text[]) as v (task, run, key)
where s.task = v.task and s.run = v.run and s.key = v.key

-- name: set_deadline
-- By when the whole task is to end from now on.
update {schema}.task set deadline = $2 where uid = $1
