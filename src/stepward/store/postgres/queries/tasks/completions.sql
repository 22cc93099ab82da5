-- name: key
-- Returns the key that signs completion tokens.
select value from {schema}.meta where key = 'completion_key'

-- name: keep_key
-- Writes the key, unless one exists.
insert into {schema}.meta values ('completion_key', $1) on conflict (key) do nothing

-- name: step
-- Returns the step with that key and run.
select {step} from {schema}.step where task = $1 and run = $2 and key = $3

-- name: complete
-- Records the outcome of a running attempt before its complete-by; the task's owner delivers it.
update {schema}.step
set state = case when $6::bytea is null then 'completed' else 'failed' end,
    output = $5, error = $6, in_doubt = in_doubt and $6 is not null,
    ordinal = null, finished_at = $7, watched = false
where task = $1 and run = $2 and key = $3 and attempt = $4 and state = 'running'
    and (complete_by is null or complete_by > $7)

-- name: steps
-- Returns those of the steps that exist.
select {s_step} from unnest($1::text[], $2::integer[], $3::text[]) as v (task, run, key)
join {schema}.step as s on s.task = v.task and s.run = v.run and s.key = v.key

-- name: lock_steps
-- Returns those of the steps that no other transaction has locked, and locks them until the transaction ends.
select {s_step} from unnest($1::text[], $2::integer[], $3::text[]) as v (task, run, key)
join {schema}.step as s on s.task = v.task and s.run = v.run and s.key = v.key
for update of s skip locked

-- name: complete_all
-- Records outcomes of running attempts before their complete-by, and returns the steps that have theirs now.
update {schema}.step as s
set state = case when v.error is null then 'completed' else 'failed' end,
    output = v.output, error = v.error, in_doubt = s.in_doubt and v.error is not null,
    ordinal = null, finished_at = v.at, watched = false
from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::bytea[], $6::bytea[], $7::float8[])
    as v (task, run, key, attempt, output, error, at)
where s.task = v.task and s.run = v.run and s.key = v.key and s.attempt = v.attempt and s.state = 'running'
    and (s.complete_by is null or s.complete_by > v.at)
returning s.task, s.run, s.key

-- name: refusals
-- Returns how many completions were refused recently.
select value from {schema}.meta where key = 'refused_completions' for update

-- name: keep_refusals
-- Writes the count of refused completions.
insert into {schema}.meta values ('refused_completions', $1) on conflict (key) do update set value = excluded.value

-- name: open_alert
-- Returns the open alert on refused completions.
select number, details from {schema}.alert
where acknowledged_at is null and kind = 'refused_completions' order by number limit 1 for update
