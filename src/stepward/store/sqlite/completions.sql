-- name: key
-- The key that signs completion tokens, in hexadecimal digits.
select hex(value) from stepward_meta where key = 'completion_key'

-- name: keep_key
-- The first one stays for good.
insert into stepward_meta values ('completion_key', unhex(?1)) on conflict (key) do nothing

-- name: step
-- The step of that key and run.
select {step} from stepward_step where task = ?1 and run = ?2 and key = ?3

-- name: complete
-- The outcome of an attempt that still runs, before its complete-by; it waits to be delivered.
update stepward_step
set state = case when ?6 is null then 'completed' else 'failed' end,
    output = ?5, error = ?6, in_doubt = case when ?6 is null then 0 else in_doubt end,
    ordinal = null, finished_at = ?7, watched = 0
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 and state = 'running'
    and (complete_by is null or complete_by > ?7)

-- name: refusals
-- How many completions were refused of late.
select value from stepward_meta where key = 'refused_completions'

-- name: keep_refusals
-- One more.
insert into stepward_meta values ('refused_completions', ?1) on conflict (key) do update set value = excluded.value

-- name: open_alert
-- The alert on refused completions that waits for an operator.
select number, details from stepward_alert
where acknowledged_at is null and kind = 'refused_completions' order by number limit 1
