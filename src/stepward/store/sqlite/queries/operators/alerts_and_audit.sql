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

-- name: alerts
-- Returns alerts, newest first.
select {alert} from stepward_alert order by number desc limit ?1

-- name: open_alerts
-- Returns alerts that are not acknowledged, newest first.
select {alert} from stepward_alert where acknowledged_at is null order by number desc limit ?1

-- name: task_alerts
-- Returns the alerts of the task with that id, newest first; with ?3 only those that are not acknowledged.
select {alert} from stepward_alert indexed by stepward_alert_task
where task is not null and task = (select uid from stepward_task where id = ?2)
    and (acknowledged_at is null or not ?3)
order by number desc limit ?1

-- name: numbered_alerts
-- Returns the alerts of these numbers, newest first.
select {alert} from stepward_alert where number in (select value from json_each(?1)) order by number desc

-- name: acknowledge
-- Acknowledges an alert.
update stepward_alert set acknowledged_at = ?2, acknowledged_by = ?3
where number = ?1 and acknowledged_at is null

-- name: audits
-- Returns the audit of the whole store, newest first.
select {audit}, (select t.id from stepward_task as t where t.uid = audit.task)
from stepward_audit as audit order by number desc limit ?1

-- name: task_audits
-- Returns the audit of the task with that id, or of one elsewhere with that uid, newest first.
select {audit}, (select t.id from stepward_task as t where t.uid = audit.task)
from stepward_audit as audit where task = coalesce((select uid from stepward_task where id = ?2), ?2)
order by number desc limit ?1
