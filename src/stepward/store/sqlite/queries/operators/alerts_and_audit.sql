-- name: insert_alert
-- Inserts an alert, due for delivery at once. Of the kinds named below at most one alert with the same details is open.
insert into stepward_alert (at, kind, task, task_id, step, message, details, tries, next_try)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?1
where ?2 not in ('unserved', 'non_deterministic', 'queue_refused', 'queue_unserved', 'foreign_store', 'old_wire',
    'unproven_message') or not exists (
    select 1 from stepward_alert where acknowledged_at is null and kind = ?2 and details = ?7)

-- name: last_hash
-- Returns the last hash of the audit chain.
select hash from stepward_audit order by number desc limit 1

-- name: insert_audit
-- Inserts an act, chained to the one before.
insert into stepward_audit (at, actor, act, task, step, before, after, details, hash)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: resolve
-- Acknowledges the alert of code that did not match records, if no task waits at that place any more, and returns its
-- number.
update stepward_alert set acknowledged_at = ?1, acknowledged_by = ?2,
    resolved_at = ?1, delivered_at = null, next_try = ?1
where acknowledged_at is null and kind = 'non_deterministic' and details = ?3
    and not exists (
        select 1 from stepward_task
        where {waking} and wake_at <= ?5
            and waits_for = ?4 and workflow = ?6 and version = ?7
            and json_extract(cast(error as text), '$.place') = ?8)
    and not exists (
        select 1 from stepward_task
        where {claimable}
            and waits_for = ?4 and workflow = ?6 and version = ?7
            and json_extract(cast(error as text), '$.place') = ?8)
    and not exists (
        select 1 from stepward_task
        where locked_by > ''
            and waits_for = ?4 and workflow = ?6 and version = ?7
            and json_extract(cast(error as text), '$.place') = ?8)
returning number

-- name: count_on
-- Updates the message and the details of an open alert.
update stepward_alert set message = ?2, details = ?3 where number = ?1
