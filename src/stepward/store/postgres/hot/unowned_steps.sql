-- name: look
-- Returns watched running steps after a position, each with whether it is a request to one of the Agents (null: to any)
-- while no live instance holds its task. The offset makes the planner look up each step's task.
select s.complete_by, s.task, s.run, s.key,
    s.state = 'running' and s.kind in ('operation', 'undo') and s.deferred_at is null
    and ($5::text[] is null or s.agent = any($5::text[]))
    and exists (
        select 1 from (select * from {schema}.task where uid = s.task offset 0) as t
        where t.state not in {ends}
            and not exists (select 1 from {schema}.instance as i where i.id = t.locked_by and i.alive))
from (
    select * from {schema}.step
    where watched and (complete_by, task, run, key) > ($1, $2, $3, $4)
    order by complete_by, task, run, key limit $6) as s
order by s.complete_by, s.task, s.run, s.key

-- name: tasks
-- Returns tasks by their uids.
select {task} from {schema}.task where uid = any($1::text[]) order by uid

-- name: steps
-- Returns steps by task, run and key.
select {s_step} from unnest($1::text[], $2::integer[], $3::text[]) as wanted (task, run, key)
join {schema}.step as s on s.task = wanted.task and s.run = wanted.run and s.key = wanted.key
