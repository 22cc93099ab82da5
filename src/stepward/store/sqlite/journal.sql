-- name: insert_alert
-- An alert, due for its first delivery at once.
insert into stepward_alert (at, kind, task, task_id, step, message, details, tries, next_try)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?1)

-- name: last_hash
-- The end of the chain.
select hash from stepward_audit order by number desc limit 1

-- name: insert_audit
-- An act, chained to the one before it.
insert into stepward_audit (at, actor, act, task, step, before, after, details, hash)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
