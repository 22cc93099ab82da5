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

-- name: open_of
-- Returns the newest open alerts of some kinds.
select {alert} from stepward_alert indexed by stepward_alert_open
where acknowledged_at is null and kind in (select value from json_each(?1)) order by number desc limit ?2

-- name: resolve
-- Marks alerts as resolved, and returns their numbers.
update stepward_alert set acknowledged_at = ?2, acknowledged_by = ?3,
    resolved_at = ?2, delivered_at = null, next_try = ?2
where number in (select value from json_each(?1)) and acknowledged_at is null
returning number

-- name: sinks
-- Returns the sinks of the Supervisor that leads, by name.
select name, description, reported_at from stepward_alert_sink order by name

-- name: silences
-- Returns the silences of alerts, and those that ended lately, by kind and workflow.
select kind, nullif(workflow, ''), until, set_at, set_by, note from stepward_alert_silence order by kind, workflow

-- name: silence
-- Sets until when no sink gets alerts of a kind, in place of an earlier silence of the same.
insert into stepward_alert_silence (kind, workflow, until, set_at, set_by, note) values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (kind, workflow) do update set until = excluded.until, set_at = excluded.set_at, set_by = excluded.set_by,
    note = excluded.note

-- name: unsilence
-- Ends a silence at an instant.
update stepward_alert_silence set until = ?3 where kind = ?1 and workflow = ?2 and until > ?3

-- name: forget_silences
-- Deletes silences that ended before an instant.
delete from stepward_alert_silence where until < ?1

-- name: due_again
-- Makes the alerts due that wait for a silence to end or for another try.
update stepward_alert indexed by stepward_alert_undelivered
set next_try = ?1 where delivered_at is null and next_try > ?1
