-- name: task
-- The task of that id.
select {task} from stepward_task where id = ?1

-- name: lock_task
-- The same, for whoever changes it.
select {task} from stepward_task where id = ?1

-- name: steps
-- All steps of the task of that id.
select {s_step} from stepward_task as t cross join stepward_step as s on s.task = t.uid
where t.id = ?1
order by s.run, s.number, s.set_aside_at is null, s.set_aside_at

-- name: tallies
-- How far tasks are (a JSON array of their uids): their steps without those that a repair set aside.
select w.value, count(s.key), coalesce(sum(s.state in ('completed', 'undone')), 0),
    coalesce(json_group_array(distinct s.key) filter (
        where s.state = 'completed' and s.kind <> 'undo' and s.key in (select value from json_each(?2))), '[]'),
    count(distinct s.key) filter (where s.state = 'completed' and s.kind <> 'undo')
from json_each(?1) as w left join stepward_step as s on s.task = w.value and s.set_aside_at is null
group by w.value

-- name: ended
-- Those of the tasks (a JSON array of uids) that have ended.
select {t_task} from json_each(?1) as wanted cross join stepward_task as t on t.uid = wanted.value
where t.state in {ends}

-- name: see_signal
-- Remember a signal's id; changes nothing if it was seen before.
insert into stepward_signal_seen (task, name, id, run) values (?1, ?2, ?3, ?4) on conflict do nothing

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
select {audit}, (select t.id from stepward_task as t where t.uid = audit.task)
from stepward_audit as audit order by number desc limit ?1

-- name: task_audits
-- The audit of the task of that id, newest first.
select {audit}, (select t.id from stepward_task as t where t.uid = audit.task)
from stepward_audit as audit where task = (select uid from stepward_task where id = ?2)
order by number desc limit ?1

-- name: waiting_signals
-- How many signals the task has not taken yet, and their bytes.
select count(*), coalesce(sum(length(body)), 0) from stepward_inbox where task = ?1 and kind = 'signal'
