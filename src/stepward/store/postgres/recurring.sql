-- name: register
-- What an application declares; a timetable that stays as it was goes on, another begins anew.
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
-- What operators look at.
select {schedule} from {schema}.schedule order by name

-- name: due
-- Those whose next nominal time has come.
select {schedule} from {schema}.schedule
where paused_at is null and next_at is not null and next_at <= $1 order by next_at limit $2

-- name: move_on
-- From the nominal time that was read to the next.
update {schema}.schedule set next_at = $3, fired_at = coalesce($4, fired_at)
where name = $1 and next_at = $2 and paused_at is null

-- name: pause_schedule
-- Fired no more.
update {schema}.schedule set paused_at = $2 where name = $1 and paused_at is null

-- name: resume_schedule
-- Fired again, from a nominal time to come.
update {schema}.schedule set paused_at = null, next_at = $2 where name = $1 and paused_at is not null

-- name: remove_schedule
-- Forgotten, until an application declares it again.
delete from {schema}.schedule where name = $1
