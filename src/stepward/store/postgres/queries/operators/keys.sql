-- name: tasks
-- Returns a page of the payloads of tasks, in the order of their uids.
select uid, input, output, error from {schema}.task where uid > $1 order by uid limit $2

-- name: steps
-- Returns a page of the payloads of steps, in the order of their keys.
select task, run, key, input, output, error, progress from {schema}.step
where (task, run, key) > ($1, $2, $3) order by task, run, key limit $4

-- name: inbox
-- Returns a page of the payloads of inbox rows, in the order of their numbers.
select number, task, kind, name, body from {schema}.inbox where number > $1 order by number limit $2

-- name: values
-- Returns a page of the published values, in the order of their keys.
select task, name, value from {schema}.live_value where (task, name) > ($1, $2) order by task, name limit $3

-- name: streams
-- Returns a page of the values of streams, in the order of their keys.
select task, name, position, value from {schema}.stream_value where (task, name, position) > ($1, $2, $3)
order by task, name, position limit $4

-- name: updates
-- Returns a page of the answers to updates, in the order of their keys.
select task, id, answer from {schema}.update_request where (task, id) > ($1, $2) order by task, id limit $3

-- name: alerts
-- Returns a page of the messages and details of alerts, in the order of their numbers.
select number, kind, message, details from {schema}.alert where number > $1 order by number limit $2

-- name: acts
-- Returns a page of the details of acts, in the order of their numbers.
select number, task, details from {schema}.audit where number > $1 order by number limit $2

-- name: schedules
-- Returns a page of the arguments of recurring tasks, in the order of their names.
select name, input from {schema}.schedule where name > $1 order by name limit $2

-- name: letters
-- Returns a page of the reasons of dead letters, in the order of their numbers.
select number, reason from {schema}.dead_letter where number > $1 order by number limit $2

-- name: seal_task
-- Replaces the payloads of tasks that are as they were read.
update {schema}.task as t set input = v.input, output = v.output, error = v.error
from unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[])
    as v (uid, input, output, error, old_input, old_output, old_error)
where t.uid = v.uid and t.input = v.old_input and t.output is not distinct from v.old_output
    and t.error is not distinct from v.old_error

-- name: seal_step
-- Replaces the payloads of steps that are as they were read.
update {schema}.step as s set input = v.input, output = v.output, error = v.error, progress = v.progress
from unnest($1::text[], $2::integer[], $3::text[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[],
    $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[])
    as v (task, run, key, input, output, error, progress, old_input, old_output, old_error, old_progress)
where s.task = v.task and s.run = v.run and s.key = v.key and s.input = v.old_input
    and s.output is not distinct from v.old_output and s.error is not distinct from v.old_error
    and s.progress is not distinct from v.old_progress

-- name: seal_inbox
-- Replaces the payloads of inbox rows that are as they were read.
update {schema}.inbox as i set body = v.body
from unnest($1::bigint[], $2::bytea[], $3::bytea[]) as v (number, body, old_body)
where i.number = v.number and i.body = v.old_body

-- name: seal_value
-- Replaces published values that are as they were read.
update {schema}.live_value as l set value = v.value
from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) as v (task, name, value, old_value)
where l.task = v.task and l.name = v.name and l.value = v.old_value

-- name: seal_streamed
-- Replaces values of streams that are as they were read.
update {schema}.stream_value as s set value = v.value
from unnest($1::text[], $2::text[], $3::integer[], $4::bytea[], $5::bytea[])
    as v (task, name, position, value, old_value)
where s.task = v.task and s.name = v.name and s.position = v.position and s.value = v.old_value

-- name: seal_update
-- Replaces the answers to updates that are as they were read.
update {schema}.update_request as u set answer = v.answer
from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) as v (task, id, answer, old_answer)
where u.task = v.task and u.id = v.id and u.answer is not distinct from v.old_answer

-- name: seal_alert
-- Replaces the messages and the details of alerts that are as they were read.
update {schema}.alert as a set message = v.message, details = v.details
from unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bytea[])
    as v (number, message, details, old_message, old_details)
where a.number = v.number and a.message = v.old_message and a.details = v.old_details

-- name: seal_schedule
-- Replaces the arguments of recurring tasks that are as they were read.
update {schema}.schedule as s set input = v.input
from unnest($1::text[], $2::bytea[], $3::bytea[]) as v (name, input, old_input)
where s.name = v.name and s.input = v.old_input

-- name: seal_letter
-- Replaces the reasons of dead letters that are as they were read.
update {schema}.dead_letter as d set reason = v.reason
from unnest($1::bigint[], $2::text[], $3::text[]) as v (number, reason, old_reason)
where d.number = v.number and d.reason = v.old_reason

-- name: forget_mark
-- Deletes the mark of a key.
delete from {schema}.meta where key = $1

-- name: arriving
-- Returns whether the store has parts of a shard that has not arrived.
select exists (select 1 from {schema}.meta where key >= 'arriving/' and key < 'arriving0')
