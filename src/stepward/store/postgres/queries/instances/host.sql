-- name: register_workflow
-- Registers what a program declares of a workflow; the latest registration replaces the one before.
insert into {schema}.workflow ({workflow}, registered_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (name, version) do update set
    schema = excluded.schema, policy = excluded.policy, complete_seconds = excluded.complete_seconds,
    plan = excluded.plan, events_to = excluded.events_to, registered_at = excluded.registered_at

-- name: notify
-- Notifies the listeners of what has changed in the store, and returns the server's clock. The notification is a hint: it
-- waits for no disk and no standby.
select pg_notify($1, $2), set_config('synchronous_commit', 'off', true), extract(epoch from clock_timestamp())::float8

-- name: identity
-- Returns the store's id and the key that signs its requests.
select (select value from {schema}.meta where key = 'store_id'),
    (select value from {schema}.meta where key = 'request_key')

-- name: keep_identity
-- Writes the store's id and key, unless they exist.
insert into {schema}.meta values ('store_id', $1), ('request_key', $2) on conflict (key) do nothing

-- name: partition
-- Returns the place of the store among several of the application.
select value from {schema}.meta where key = 'partition'

-- name: keep_partition
-- Writes the place of the store among several, unless it has one.
insert into {schema}.meta values ('partition', $1) on conflict (key) do nothing

-- name: count_hang
-- Counts one more time that a live task's code blocked an event loop; a task that has ended is not counted.
update {schema}.task set hangs = hangs + 1 where uid = $1 and state not in {ends} returning hangs

-- name: end_warning
-- Acknowledges the open alerts of a kind with these details, and returns their numbers.
update {schema}.alert set acknowledged_at = $3, acknowledged_by = $4,
    resolved_at = $3, delivered_at = null, next_try = $3
where acknowledged_at is null and kind = $1 and details = $2 returning number

-- name: key_marks
-- Returns the keys with which payloads were ever encrypted.
select key, value from {schema}.meta where starts_with(key, 'encryption_key:')

-- name: keep_key_mark
-- Inserts the mark of a key; the first one stays.
insert into {schema}.meta values ($1, $2) on conflict (key) do nothing
