-- name: look
-- Returns watched running steps after a position, each with whether it is a request to one of the Agents (?5: a JSON
-- array, or null for any) while no live instance holds its task.
select s.complete_by, s.task, s.run, s.key,
    s.kind in ('operation', 'undo') and s.deferred_at is null
    and (?5 is null or s.agent in (select value from json_each(?5)))
    and exists (
        select 1 from stepward_task as t
        where t.uid = s.task and t.state not in {ends}
            and not exists (select 1 from stepward_instance as i where i.id = t.locked_by and i.alive = 1))
from stepward_step as s indexed by stepward_step_watched
where s.watched = 1 and s.state = 'running' and (s.complete_by, s.task, s.run, s.key) > (?1, ?2, ?3, ?4)
order by s.complete_by, s.task, s.run, s.key limit ?6

-- name: tasks
-- Returns tasks by their uids (a JSON array).
select {t_task} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value

-- name: steps
-- Returns steps by task, run and key (a JSON array).
select {s_step} from json_each(?1) as wanted cross join stepward_step as s
    on s.task = wanted.value ->> 0 and s.run = wanted.value ->> 1 and s.key = wanted.value ->> 2
