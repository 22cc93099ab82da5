-- name: register
-- Registers a schedule that an application declares. The next nominal time stays if the cron expression and the time
-- zone are the same; otherwise it is the new one.
insert into {schema}.schedule as s ({schedule})
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
on conflict (name) do update set
    workflow = excluded.workflow, version = excluded.version, input = excluded.input, catch_up = excluded.catch_up,
    priority = excluded.priority, fairness_key = excluded.fairness_key,
    complete_seconds = excluded.complete_seconds, overlap = excluded.overlap, jitter = excluded.jitter,
    starts_at = excluded.starts_at, ends_at = excluded.ends_at, created_by = null,
    next_at = case when s.cron = excluded.cron and s.timezone = excluded.timezone then s.next_at
        else excluded.next_at end,
    cron = excluded.cron, timezone = excluded.timezone

-- name: create
-- Inserts a schedule that an operator creates; one of that name stays as it is.
insert into {schema}.schedule ({schedule})
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
on conflict (name) do nothing

-- name: listed
-- Returns all schedules, by name.
select {schedule} from {schema}.schedule order by name

-- name: due
-- Returns the schedules whose next nominal time has come. Where tasks wait for the one before, that one has ended.
select {schedule} from {schema}.schedule as s
left join lateral (
    select true as is_busy from {schema}.task as t
    where t.id = s.last_task and t.state in ('pending', 'processing', 'waiting', 'suspended', 'undoing')
    limit 1
) as last on true
where paused_at is null and next_at is not null and next_at <= $1
    and (overlap not in ('buffer', 'buffer_one') or is_busy is null)
order by next_at limit $2

-- name: move_on
-- Replaces the nominal times that were read with the next ones, in the order given, and returns the places of those that
-- applied.
update {schema}.schedule as s
set next_at = v.next_at, fired_at = coalesce(v.fired_at, s.fired_at), last_task = coalesce(v.last_task, s.last_task)
from unnest($1::text[], $2::float8[], $3::float8[], $4::float8[], $5::text[]) with ordinality
    as v (name, read_at, next_at, fired_at, last_task, place)
where s.name = v.name and s.next_at = v.read_at and s.paused_at is null
returning v.place

-- name: pause_schedule
-- Pauses a schedule.
update {schema}.schedule set paused_at = $2 where name = $1 and paused_at is null

-- name: resume_schedule
-- Resumes a schedule from a nominal time in the future.
update {schema}.schedule set paused_at = null, next_at = $2 where name = $1 and paused_at is not null

-- name: remove_schedule
-- Removes a schedule; an application may declare it again.
delete from {schema}.schedule where name = $1

-- name: named
-- Returns the schedule of that name.
select {schedule} from {schema}.schedule where name = $1

-- name: last_tasks
-- Returns the names of schedules whose tasks may not overlap and whose task that was fired last is at work, with its id.
select s.name, t.id from {schema}.schedule as s join {schema}.task as t on t.id = s.last_task
where s.name = any($1::text[]) and s.overlap <> 'allow'
    and t.state in ('pending', 'processing', 'waiting', 'suspended', 'undoing')
order by t.uid

-- name: note_task
-- Records a task that was started by hand as the last one.
update {schema}.schedule set last_task = $2 where name = $1
