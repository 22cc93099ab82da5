-- name: undelivered
-- Returns due alerts that some sink may not have accepted in full, oldest first.
select {alert} from {schema}.alert
where delivered_at is null and next_try <= $1 order by number limit $2

-- name: receipts
-- Returns the receipts of sinks for these alerts.
select {receipt} from {schema}.alert_receipt where number = any($1::bigint[]) order by number, sink

-- name: record_receipt
-- Records what sinks have accepted of alerts; what they accepted before stays.
insert into {schema}.alert_receipt as r ({receipt})
select * from unnest($1::bigint[], $2::text[], $3::float8[], $4::float8[], $5::integer[], $6::float8[], $7::text[],
    $8::float8[])
on conflict (number, sink) do update set
    raised_at = coalesce(r.raised_at, excluded.raised_at), resolved_at = coalesce(r.resolved_at, excluded.resolved_at),
    tries = excluded.tries, next_try = excluded.next_try, error = excluded.error,
    given_up_at = coalesce(r.given_up_at, excluded.given_up_at)

-- name: progress
-- Updates when alerts are due, or marks them as delivered, unless they were resolved since they were read.
update {schema}.alert as a
set tries = a.tries + v.tried::integer, next_try = coalesce(v.next_try, a.next_try),
    delivered_at = case when v.next_try is null then $5::float8 end
from unnest($1::bigint[], $2::float8[], $3::boolean[], $4::float8[]) as v (number, resolved_at, tried, next_try)
where a.number = v.number and a.resolved_at is not distinct from v.resolved_at and a.delivered_at is null

-- name: forget_sinks
-- Deletes the sinks that were reported before.
delete from {schema}.alert_sink

-- name: report_sink
-- Records a sink of the Supervisor that leads.
insert into {schema}.alert_sink (name, description, reported_at)
select * from unnest($1::text[], $2::text[], $3::float8[])

-- name: open_of
-- Returns the newest open alerts of some kinds.
select {alert} from {schema}.alert
where acknowledged_at is null and kind = any($1::text[]) order by number desc limit $2

-- name: resolve
-- Marks alerts as resolved, and returns their numbers.
update {schema}.alert set acknowledged_at = $2, acknowledged_by = $3,
    resolved_at = $2, delivered_at = null, next_try = $2
where number = any($1::bigint[]) and acknowledged_at is null
returning number

-- name: sinks
-- Returns the sinks of the Supervisor that leads, by name.
select name, description, reported_at from {schema}.alert_sink order by name

-- name: silences
-- Returns the silences of alerts, and those that ended lately, by kind and workflow.
select kind, nullif(workflow, ''), until, set_at, set_by, note from {schema}.alert_silence order by kind, workflow

-- name: silence
-- Sets until when no sink gets alerts of a kind, in place of an earlier silence of the same.
insert into {schema}.alert_silence (kind, workflow, until, set_at, set_by, note) values ($1, $2, $3, $4, $5, $6)
on conflict (kind, workflow) do update set until = excluded.until, set_at = excluded.set_at, set_by = excluded.set_by,
    note = excluded.note

-- name: unsilence
-- Ends a silence at an instant.
update {schema}.alert_silence set until = $3 where kind = $1 and workflow = $2 and until > $3

-- name: forget_silences
-- Deletes silences that ended before an instant.
delete from {schema}.alert_silence where until < $1

-- name: due_again
-- Makes the alerts due that wait for a silence to end or for another try.
update {schema}.alert set next_try = $1 where delivered_at is null and next_try > $1
