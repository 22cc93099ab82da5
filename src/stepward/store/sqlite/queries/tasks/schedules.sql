-- name: register
-- Registers a schedule that an application declares. The next nominal time stays if the cron expression and the time
-- zone are the same; otherwise it is the new one.
insert into stepward_schedule ({schedule}) values ({schedule_places})
on conflict (name) do update set
    workflow = excluded.workflow, version = excluded.version, input = excluded.input, catch_up = excluded.catch_up,
    priority = excluded.priority, fairness_key = excluded.fairness_key,
    complete_seconds = excluded.complete_seconds, overlap = excluded.overlap, jitter = excluded.jitter,
    starts_at = excluded.starts_at, ends_at = excluded.ends_at, created_by = null,
    next_at = case when cron = excluded.cron and timezone = excluded.timezone then next_at else excluded.next_at end,
    cron = excluded.cron, timezone = excluded.timezone

-- name: create
-- Inserts a schedule that an operator creates; one of that name stays as it is.
insert into stepward_schedule ({schedule})
values ({schedule_places})
on conflict (name) do nothing

-- name: listed
-- Returns all schedules, by name.
select {schedule} from stepward_schedule order by name

-- name: due
-- Returns the schedules whose next nominal time has come. Where tasks wait for the one before, that one has ended.
select {schedule} from stepward_schedule as s
where paused_at is null and next_at is not null and next_at <= ?1
    and (overlap not in ('buffer', 'buffer_one') or not exists (
        select 1 from stepward_task as t where t.id = s.last_task
            and t.state in ('pending', 'processing', 'waiting', 'suspended', 'undoing')
    ))
order by next_at limit ?2

-- name: move_on
-- Replaces the nominal time that was read with the next one.
update stepward_schedule set next_at = ?3, fired_at = coalesce(?4, fired_at), last_task = coalesce(?5, last_task)
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

-- name: named
-- Returns the schedule of that name.
select {schedule} from stepward_schedule where name = ?1

-- name: last_tasks
-- Returns the names of schedules whose tasks may not overlap and whose task that was fired last is at work, with its id.
select s.name, t.id from stepward_schedule as s cross join stepward_task as t on t.id = s.last_task
where s.name in (select value from json_each(?1)) and s.overlap <> 'allow'
    and t.state in ('pending', 'processing', 'waiting', 'suspended', 'undoing')
order by t.uid

-- name: note_task
-- Records a task that was started by hand as the last one.
update stepward_schedule set last_task = ?2 where name = ?1
