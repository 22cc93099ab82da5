-- name: insert_alert
-- An alert, due for its first delivery at once; of what nobody serves one is open at most, whoever finds it out.
insert into stepward_alert (at, kind, task, task_id, step, message, details, tries, next_try)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?1
where ?2 <> 'unserved' or not exists (
    select 1 from stepward_alert where acknowledged_at is null and kind = 'unserved' and details = ?7)

-- name: last_hash
-- The end of the chain.
select hash from stepward_audit order by number desc limit 1

-- name: insert_audit
-- An act, chained to the one before it.
insert into stepward_audit (at, actor, act, task, step, before, after, details, hash)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
