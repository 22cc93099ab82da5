-- name: tasks
-- Returns a page of the payloads of tasks, in the order of their uids.
select uid, input, output, error from stepward_task where uid > ?1 order by uid limit ?2

-- name: steps
-- Returns a page of the payloads of steps, in the order of their keys.
select task, run, key, input, output, error, progress from stepward_step
where (task, run, key) > (?1, ?2, ?3) order by task, run, key limit ?4

-- name: inbox
-- Returns a page of the payloads of inbox rows, in the order of their numbers.
select number, task, kind, name, body from stepward_inbox where number > ?1 order by number limit ?2

-- name: alerts
-- Returns a page of the messages and details of alerts, in the order of their numbers.
select number, kind, message, details from stepward_alert where number > ?1 order by number limit ?2

-- name: acts
-- Returns a page of the details of acts, in the order of their numbers.
select number, task, details from stepward_audit where number > ?1 order by number limit ?2

-- name: schedules
-- Returns a page of the arguments of recurring tasks, in the order of their names.
select name, input from stepward_schedule where name > ?1 order by name limit ?2

-- name: letters
-- Returns a page of the reasons of dead letters, in the order of their numbers.
select number, reason from stepward_dead_letter where number > ?1 order by number limit ?2

-- name: seal_task
-- Replaces the payloads of a task that are as they were read.
update stepward_task set input = ?2, output = ?3, error = ?4
where uid = ?1 and input = ?5 and output is ?6 and error is ?7

-- name: seal_step
-- Replaces the payloads of a step that are as they were read.
update stepward_step set input = ?4, output = ?5, error = ?6, progress = ?7
where task = ?1 and run = ?2 and key = ?3 and input = ?8 and output is ?9 and error is ?10 and progress is ?11

-- name: seal_inbox
-- Replaces the payload of an inbox row that is as it was read.
update stepward_inbox set body = ?2 where number = ?1 and body = ?3

-- name: seal_alert
-- Replaces the message and the details of an alert that are as they were read.
update stepward_alert set message = ?2, details = ?3 where number = ?1 and message = ?4 and details = ?5

-- name: seal_schedule
-- Replaces the arguments of a recurring task that are as they were read.
update stepward_schedule set input = ?2 where name = ?1 and input = ?3

-- name: seal_letter
-- Replaces the reason of a dead letter that is as it was read.
update stepward_dead_letter set reason = ?2 where number = ?1 and reason = ?3

-- name: forget_mark
-- Deletes the mark of a key.
delete from stepward_meta where key = ?1
