-- name: due
-- Returns the instant at which the next thing in the store is due: a deadline, a wake-up, a schedule, the end of a
-- lease.
select min(at) from (
    select min(complete_by) as at from stepward_step where watched = 1 and state = 'running'
    union all
    select min(repeat_at) from stepward_step where state = 'to_repeat'
    union all
    select min(deadline) from stepward_task
    where deadline is not null and finished_at is null and state <> 'undoing'
    union all
    select min(wake_at) from stepward_task where locked_by is null and wake_at is not null and finished_at is null
    union all
    select min(next_at) from stepward_schedule where paused_at is null
    union all
    select min(expires_at) from stepward_instance where alive = 1 and expires_at <= ?1)

-- name: lapse
-- Ends the lease of a process that died; a lease in virtual time outlasts any test.
update stepward_instance set expires_at = ?1 where id = ?2 and alive = 1

-- name: abdicate
-- Ends the leadership of a Supervisor that died.
update stepward_leadership set expires_at = ?1 where instance = ?2
