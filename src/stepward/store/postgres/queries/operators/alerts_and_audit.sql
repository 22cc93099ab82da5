-- name: insert_alert
-- Inserts alerts, due for delivery at once. Of the kinds named below at most one alert with the same details is open.
insert into {schema}.alert (at, kind, task, task_id, step, message, details, tries, next_try)
select v.at, v.kind, v.task, v.task_id, v.step, v.message, v.details, 0, v.at
from (
    select *, row_number() over (partition by kind, details order by place) as twin
    from unnest($1::float8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[]) with ordinality
        as v (at, kind, task, task_id, step, message, details, place)) as v
where v.kind not in ('unserved', 'non_deterministic', 'queue_refused', 'queue_unserved', 'foreign_store', 'old_wire',
    'unproven_message') or v.twin = 1 and not exists (
    select 1 from {schema}.alert as a
    where a.acknowledged_at is null and a.kind = v.kind and a.details = v.details)
order by v.place

-- name: lock_chain
-- Lets one transaction at a time append to the audit, because each hash depends on the one before.
select pg_advisory_xact_lock(hashtextextended('stepward audit ' || $1, 0))

-- name: last_hash
-- Returns the last hash of the audit chain.
select hash from {schema}.audit order by number desc limit 1

-- name: insert_audit
-- Inserts acts, each chained to the one before.
insert into {schema}.audit (at, actor, act, task, step, before, after, details, hash)
select v.at, v.actor, v.act, v.task, v.step, v.before, v.after, v.details, v.hash
from unnest($1::float8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[],
        $9::bytea[]) with ordinality
    as v (at, actor, act, task, step, before, after, details, hash, place)
order by v.place

-- name: resolve
-- Acknowledges the alert of code that did not match records, if no task waits at that place any more, and returns its
-- number.
update {schema}.alert set acknowledged_at = $1, acknowledged_by = $2,
    resolved_at = $1, delivered_at = null, next_try = $1
where acknowledged_at is null and kind = 'non_deterministic' and details = $3
    and not exists (
        select 1 from {schema}.task
        where ({waking} and wake_at <= $5 or {claimable} or locked_by is not null)
            and waits_for = $4 and workflow = $6 and version = $7
            and convert_from(error, 'UTF8')::json ->> 'place' = $8)
returning number

-- name: count_on
-- Updates the message and the details of an open alert.
update {schema}.alert set message = $2, details = $3 where number = $1

-- name: alerts
-- Returns alerts, newest first.
select {alert} from {schema}.alert order by number desc limit $1

-- name: open_alerts
-- Returns alerts that are not acknowledged, newest first.
select {alert} from {schema}.alert where acknowledged_at is null order by number desc limit $1

-- name: task_alerts
-- Returns the alerts of the task with that id, newest first; with $3 only those that are not acknowledged. The task's
-- alerts are read first: a plan that walks over all of them in order of their numbers is impossible.
with of_task as materialized (
    select {alert} from {schema}.alert as alert
    where alert.task = (select uid from {schema}.task where id = $2)
        and (acknowledged_at is null or not $3::boolean))
select * from of_task order by number desc limit $1

-- name: numbered_alerts
-- Returns the alerts of these numbers, newest first.
select {alert} from {schema}.alert where number = any($1::bigint[]) order by number desc

-- name: acknowledge
-- Acknowledges an alert.
update {schema}.alert set acknowledged_at = $2, acknowledged_by = $3
where number = $1 and acknowledged_at is null

-- name: audits
-- Returns the audit of the whole store, newest first.
select {audit}, (select t.id from {schema}.task as t where t.uid = audit.task)
from {schema}.audit as audit order by number desc limit $1

-- name: task_audits
-- Returns the audit of the task with that id, or of one elsewhere with that uid, newest first. Its acts are read first,
-- as its alerts are.
with of_task as materialized (
    select {audit}, (select t.id from {schema}.task as t where t.uid = audit.task)
    from {schema}.audit as audit where task = coalesce((select uid from {schema}.task where id = $2), $2))
select * from of_task order by number desc limit $1
