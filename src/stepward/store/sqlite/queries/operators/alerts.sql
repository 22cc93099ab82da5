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

-- name: late_tasks
-- Returns the live tasks, among those with the earliest deadlines, that have used a share of the time until a deadline of
-- some seconds or more.
select workflow, version, id from (
    select workflow, version, id, created_at, deadline from stepward_task indexed by stepward_task_deadline
    where deadline is not null and finished_at is null and state <> 'undoing' order by deadline limit ?4) as t
where deadline - created_at >= ?3 and ?1 - created_at > ?2 * (deadline - created_at)
order by deadline

-- name: heads
-- Returns the oldest message that was never taken of each queue, at most 100, but for the queues of replies.
with recursive queues (queue) as (
    select min(queue) from stepward_message
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue)
    from queues as q where q.queue is not null
    limit 100)
select queue, token from (
    select queue, (
        select token from stepward_message as m where m.queue = queues.queue and m.taken_until <= 0
        order by m.taken_until, m.token limit 1) as token
    from queues where queue is not null and queue not like 'replies.%') as heads
where token is not null order by queue

-- name: newest_token
-- Returns the token of the newest message.
select coalesce(max(token), 0) from stepward_message

-- name: waiting
-- Returns the task of each workflow that is claimed next, if it was created before an instant and never started.
with recursive {first_claimable}
select t.workflow, t.version, t.id, t.created_at from first cross join stepward_task as t on t.rowid = first.id
where t.created_at <= ?1 and t.started_at is null order by t.workflow, t.version

-- name: late_leases
-- Returns the live instances that have used a share of a lease of some seconds or more without renewing it.
select {instance} from stepward_instance
where alive = 1 and expires_at - renewed_at >= ?3 and ?1 - renewed_at > ?2 * (expires_at - renewed_at)
order by id

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
