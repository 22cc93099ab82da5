-- name: insert_alert
-- An alert, due for its first delivery at once; of what nobody serves, of each place where code does not fit its
-- records, of each queue, and of each reason to reject messages, one is open at most, whoever finds it out.
insert into stepward_alert (at, kind, task, task_id, step, message, details, tries, next_try)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?1
where ?2 not in ('unserved', 'non_deterministic', 'queue_refused', 'queue_unserved', 'foreign_store', 'old_wire',
    'unproven_message') or not exists (
    select 1 from stepward_alert where acknowledged_at is null and kind = ?2 and details = ?7)

-- name: last_hash
-- The end of the chain.
select hash from stepward_audit order by number desc limit 1

-- name: insert_audit
-- An act, chained to the one before it.
insert into stepward_audit (at, actor, act, task, step, before, after, details, hash)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: settle
-- The alert of code that did not fit records, if no task waits at its place any more: sleeping, free or held.
update stepward_alert set acknowledged_at = ?1, acknowledged_by = ?2
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
-- More of what an open alert tells of.
update stepward_alert set message = ?2, details = ?3 where number = ?1
