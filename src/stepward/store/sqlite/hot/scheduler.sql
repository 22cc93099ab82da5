-- name: alive
-- Whether the instance may still write.
select 1 from stepward_instance where id = ?1 and alive = 1

-- name: tasks
-- Tasks (a JSON array of uids); the caller leaves out those that the instance does not hold.
select {t_task} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value

-- name: steps
-- The steps of tasks (a JSON array of uid, first and last run).
select {s_step} from json_each(?1) as wanted cross join stepward_step as s
    on s.task = wanted.value ->> 0 and s.run between wanted.value ->> 1 and wanted.value ->> 2

-- name: inbox
-- The inbox rows of tasks (a JSON array of uids).
select {i_inbox} from json_each(?1) as wanted cross join stepward_inbox as i on i.task = wanted.value
order by i.number

-- name: read_inbox
-- What came since for tasks that the instance holds.
select {i_inbox} from stepward_inbox as i cross join stepward_task as t on t.uid = i.task
where i.number > ?1 and t.locked_by = ?2
order by i.number limit ?3

-- name: next_wake
-- 0 while something is claimable, else the instant at which something will be.
select case
    when exists (select 1 from stepward_task where {claimable}) then 0.0
    else (select min(wake_at) from stepward_task where {waking})
end

-- name: wake
-- What slept until now is pending like the rest: the claim then goes by priority, turn and age. What it waited for
-- stays: a wait that goes on is told once.
update stepward_task
set state = case state when 'waiting' then 'pending' else state end, wake_at = null
where rowid in (select rowid from stepward_task where {waking} and wake_at <= ?1 order by wake_at limit ?2)
