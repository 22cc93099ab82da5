-- name: alive
-- Returns whether the instance is alive and may write.
select 1 from stepward_instance where id = ?1 and alive = 1

-- name: tasks
-- Returns tasks (a JSON array of uids); the caller leaves out those that the instance does not hold.
select {t_task} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value

-- name: steps
-- Returns the steps of tasks (a JSON array of uid, first and last run).
select {s_step} from json_each(?1) as wanted cross join stepward_step as s
    on s.task = wanted.value ->> 0 and s.run between wanted.value ->> 1 and wanted.value ->> 2

-- name: inbox
-- Returns the inbox rows of tasks (a JSON array of uids).
select {i_inbox} from json_each(?1) as wanted cross join stepward_inbox as i on i.task = wanted.value
order by i.number

-- name: read_inbox
-- Returns the inbox rows after a number for tasks that the instance holds.
select {i_inbox} from stepward_inbox as i cross join stepward_task as t on t.uid = i.task
where i.number > ?1 and t.locked_by = ?2
order by i.number limit ?3

-- name: next_wake
-- Returns 0 while a task is claimable, else the instant at which the next one becomes claimable.
select case
    when exists (select 1 from stepward_task where {claimable}) then 0.0
    else (
        select min(at)
        from (
            select min(wake_at) as at from stepward_task where {waking}
            union all
            select min(due_at) from stepward_rate_bucket where due_at is not null))
end

-- name: wake
-- Makes sleeping tasks pending whose time has come, so that they are claimed by priority, fairness and age. What a task
-- waited for stays, so that a wait that continues is reported once.
update stepward_task
set state = case state when 'waiting' then 'pending' else state end, wake_at = null
where rowid in (select rowid from stepward_task where {waking} and wake_at <= ?1 order by wake_at limit ?2)

-- name: has_due
-- Returns a row if tasks wait that the rate of their workflow lets start now.
select 1 from stepward_rate_bucket where due_at <= ?1 limit 1
