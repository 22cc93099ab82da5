-- name: register
-- Registers a schedule that an application declares. The next nominal time stays if the cron expression and the time
-- zone are the same; otherwise it is the new one.
insert into {schema}.schedule as s ({schedule})
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
on conflict (name) do update set
    workflow = excluded.workflow, version = excluded.version, input = excluded.input, catch_up = excluded.catch_up,
    priority = excluded.priority, fairness_key = excluded.fairness_key,
    complete_seconds = excluded.complete_seconds,
    next_at = case when s.cron = excluded.cron and s.timezone = excluded.timezone then s.next_at
        else excluded.next_at end,
    cron = excluded.cron, timezone = excluded.timezone

-- name: listed
-- Returns all schedules, by name.
select {schedule} from {schema}.schedule order by name

-- name: due
-- Returns the schedules whose next nominal time has come.
select {schedule} from {schema}.schedule
where paused_at is null and next_at is not null and next_at <= $1 order by next_at limit $2

-- name: move_on
-- Replaces the nominal time that was read with the next one.
update {schema}.schedule set next_at = $3, fired_at = coalesce($4, fired_at)
where name = $1 and next_at = $2 and paused_at is null

-- name: pause_schedule
-- Pauses a schedule.
update {schema}.schedule set paused_at = $2 where name = $1 and paused_at is null

-- name: resume_schedule
-- Resumes a schedule from a nominal time in the future.
update {schema}.schedule set paused_at = null, next_at = $2 where name = $1 and paused_at is not null

-- name: remove_schedule
-- Removes a schedule; an application may declare it again.
delete from {schema}.schedule where name = $1
