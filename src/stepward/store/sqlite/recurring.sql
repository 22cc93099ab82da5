-- name: register
-- Registers a schedule that an application declares. The next nominal time stays if the cron expression and the time
-- zone are the same; otherwise it is the new one.
insert into stepward_schedule ({schedule}) values ({schedule_places})
on conflict (name) do update set
    workflow = excluded.workflow, version = excluded.version, input = excluded.input, catch_up = excluded.catch_up,
    priority = excluded.priority, fairness_key = excluded.fairness_key,
    complete_seconds = excluded.complete_seconds,
    next_at = case when cron = excluded.cron and timezone = excluded.timezone then next_at else excluded.next_at end,
    cron = excluded.cron, timezone = excluded.timezone

-- name: listed
-- Returns all schedules, by name.
select {schedule} from stepward_schedule order by name

-- name: due
-- Returns the schedules whose next nominal time has come.
select {schedule} from stepward_schedule
where paused_at is null and next_at is not null and next_at <= ?1 order by next_at limit ?2

-- name: move_on
-- Replaces the nominal time that was read with the next one.
update stepward_schedule set next_at = ?3, fired_at = coalesce(?4, fired_at)
where name = ?1 and next_at = ?2 and paused_at is null

-- name: pause_schedule
-- Pauses a schedule.
update stepward_schedule set paused_at = ?2 where name = ?1 and paused_at is null

-- name: resume_schedule
-- Resumes a schedule from a nominal time in the future.
update stepward_schedule set paused_at = null, next_at = ?2 where name = ?1 and paused_at is not null

-- name: remove_schedule
-- Removes a schedule; an application may declare it again.
delete from stepward_schedule where name = ?1
