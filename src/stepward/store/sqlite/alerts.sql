-- name: undelivered
-- Returns due alerts that some sink may not have accepted in full, oldest first.
select {alert} from stepward_alert indexed by stepward_alert_undelivered
where delivered_at is null and next_try <= ?1 order by number limit ?2

-- name: receipts
-- Returns the receipts of sinks for these alerts (a JSON array of numbers).
select {receipt} from stepward_alert_receipt where number in (select value from json_each(?1)) order by number, sink

-- name: record_receipt
-- Records what a sink has accepted of an alert; what it accepted before stays.
insert into stepward_alert_receipt ({receipt}) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (number, sink) do update set
    raised_at = coalesce(raised_at, excluded.raised_at), resolved_at = coalesce(resolved_at, excluded.resolved_at),
    tries = excluded.tries, next_try = excluded.next_try, error = excluded.error,
    given_up_at = coalesce(given_up_at, excluded.given_up_at)

-- name: progress
-- Updates when an alert is due, or marks it as delivered, unless it was resolved since it was read.
update stepward_alert
set tries = tries + ?3, next_try = coalesce(?4, next_try), delivered_at = case when ?4 is null then ?5 end
where number = ?1 and resolved_at is ?2 and delivered_at is null

-- name: forget_sinks
-- Deletes the sinks that were reported before.
delete from stepward_alert_sink

-- name: report_sink
-- Records a sink of the Supervisor that leads.
insert into stepward_alert_sink (name, description, reported_at)
values (?1, ?2, ?3)
