-- name: task
-- The task of that id.
select {task} from stepward_task where id = ?1

-- name: tasks
-- The columns of a listing: payloads stay where they are.
select uid, id, workflow, version, state, priority, fairness_key, labels, run, x'5b5d', null, error, locked_by,
    complete_by, wake_at, waits_for, undo_to, inbox, failure_count, recovery_count, parent, parent_run, parent_step,
    reply_to, created_at, started_at, finished_at, events
from stepward_task

-- name: steps
-- All steps of the task of that id.
select {s_step} from stepward_task as t cross join stepward_step as s on s.task = t.uid
where t.id = ?1
order by s.run, s.number

-- name: ended
-- Those of the tasks (a JSON array of uids) that have ended.
select {t_task} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value
where t.state in {ends}

-- name: see_signal
-- Remember a signal's id; changes nothing if it was seen before.
insert into stepward_signal_seen (task, name, id) values (?1, ?2, ?3) on conflict do nothing

-- name: workflow
-- The versions of a workflow.
select {workflow} from stepward_workflow where name = ?1 order by registered_at desc, version desc

-- name: workflows
-- All workflows.
select {workflow} from stepward_workflow order by name, registered_at desc, version desc

-- name: instances
-- Instances alive, and those that died after an instant.
select {instance} from stepward_instance where alive = 1 or dead_at > ?1 order by started_at, id

-- name: alerts
-- Alerts, newest first.
select {alert} from stepward_alert order by number desc limit ?1

-- name: open_alerts
-- Alerts that nobody has acknowledged, newest first.
select {alert} from stepward_alert where acknowledged_at is null order by number desc limit ?1

-- name: acknowledge
-- Somebody has seen the alert.
update stepward_alert set acknowledged_at = ?2, acknowledged_by = ?3
where number = ?1 and acknowledged_at is null

-- name: audits
-- The audit of everything, newest first.
select {audit} from stepward_audit order by number desc limit ?1

-- name: task_audits
-- The audit of the task of that id, newest first.
select {audit} from stepward_audit where task = (select uid from stepward_task where id = ?2)
order by number desc limit ?1
