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
