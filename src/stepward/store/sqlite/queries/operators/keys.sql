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

-- name: values
-- Returns a page of the published values, in the order of their keys.
select task, name, value from stepward_live_value where (task, name) > (?1, ?2) order by task, name limit ?3

-- name: streams
-- Returns a page of the values of streams, in the order of their keys.
select task, name, position, value from stepward_stream_value where (task, name, position) > (?1, ?2, ?3)
order by task, name, position limit ?4

-- name: updates
-- Returns a page of the answers to updates, in the order of their keys.
select task, id, answer from stepward_update_request where (task, id) > (?1, ?2) order by task, id limit ?3

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

-- name: seal_value
-- Replaces a published value that is as it was read.
update stepward_live_value set value = ?3 where task = ?1 and name = ?2 and value = ?4

-- name: seal_streamed
-- Replaces a value of a stream that is as it was read.
update stepward_stream_value set value = ?4 where task = ?1 and name = ?2 and position = ?3 and value = ?5

-- name: seal_update
-- Replaces the answer to an update that is as it was read.
update stepward_update_request set answer = ?3 where task = ?1 and id = ?2 and answer is ?4

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

-- name: arriving
-- Returns whether the store has parts of a shard that has not arrived.
select exists (select 1 from stepward_meta where key >= 'arriving/' and key < 'arriving0')
