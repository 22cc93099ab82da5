-- name: read_committed
-- Lets each statement of the transaction see what was committed before it.
set transaction isolation level read committed

-- name: bound
-- Sets the milliseconds for which a lock is waited at most, until the transaction ends.
select set_config('lock_timeout', $1::text, true)

-- name: close
-- Waits for every transaction that has entered the gate of shards, and lets none enter until this one ends.
select pg_advisory_xact_lock(hashtextextended('{schema} shards', 0))

-- name: lock
-- Locks the tables of what moves against every other writer, in the order in which a turn writes them.
lock table {tables} in exclusive mode

-- name: record
-- Returns the place of the store among several of the application, and keeps it until the transaction ends.
select value from {schema}.meta where key = 'partition' for update

-- name: write_record
-- Writes the place of the store among several.
insert into {schema}.meta values ('partition', $1) on conflict (key) do update set value = excluded.value

-- name: batches
-- Returns how many batches have not ended.
select count(*) from {schema}.batch where state in ('running', 'paused')

-- name: schedulers
-- Returns how many Schedulers are alive.
select count(*) from {schema}.instance where role = 'scheduler' and alive

-- name: horizon
-- Returns the transaction, as 32 bits, before which every one has ended.
select (pg_snapshot_xmin(pg_current_snapshot())::text::numeric % 4294967296)::text

-- name: tasks_after
-- Returns tasks after a uid, in their order.
select uid, id from {schema}.task where uid > $1 order by uid limit $2

-- name: messages_after
-- Returns messages after a token, without requests, which stay.
select token, queue, body from {schema}.message
where token > $1 and not starts_with(queue, 'agents.') order by token limit $2

-- name: letters_after
-- Returns dead letters after a number, without those of requests.
select number, queue, body from {schema}.dead_letter
where number > $1 and not starts_with(queue, 'agents.') order by number limit $2

-- name: tasks_since
-- Returns the tasks that were written by that transaction, or by one that began later, and perhaps others.
select uid, id from {schema}.task where age(xmin) <= age($1::text::xid)

-- name: messages_since
-- Returns messages likewise.
select token, queue, body from {schema}.message
where age(xmin) <= age($1::text::xid) and not starts_with(queue, 'agents.')

-- name: letters_since
-- Returns dead letters likewise.
select number, queue, body from {schema}.dead_letter
where age(xmin) <= age($1::text::xid) and not starts_with(queue, 'agents.')

-- name: keyed
-- Returns the ids of the tasks that hold a key, or are replaced by the one that does, with the key; ended tasks with
-- chosen ids hold none.
select t.id, k.key from {schema}.submission_key as k
cross join lateral unnest(array[k.task, k.predecessor]) as u (uid) join {schema}.task as t on t.uid = u.uid
where t.id = t.uid or t.state not in ('processed', 'undone', 'cancelled', 'error')

-- name: keys
-- Returns the keys of submissions under a rule.
select workflow, rule, key from {schema}.submission_key

-- name: schedules
-- Returns the names of schedules.
select name from {schema}.schedule

-- name: give_back
-- Releases tasks without counting a failure, as when their instance retires; waiting tasks stay waiting.
update {schema}.task as t
set locked_by = null, complete_by = case when state = 'waiting' then complete_by end,
    wake_at = case when state <> 'waiting' then null
        when exists (select 1 from {schema}.inbox as i where i.task = t.uid) then $2::float8 else wake_at end,
    waits_for = case when state = 'waiting' then waits_for end,
    state = case when state in ('undoing', 'suspended', 'waiting') then state else 'pending' end
where uid = any({chunk}) and locked_by is not null

-- name: unwatch
-- Lets running steps be sent again at once: replies to the instance that had them stay behind. What is to be finished
-- from outside stays as it is.
update {schema}.step set watched = false
where task = any({chunk}) and watched and deferred_at is null and complete_by > $2::float8

-- name: permits
-- Returns how many of the tasks have a permit.
select count(*) from {schema}.task_permit where held and task = any({chunk})

-- name: ask_again
-- Makes the tasks due that wait for a permit: they ask again.
update {schema}.task set wake_at = $1::float8
where uid in (select task from {schema}.task_permit where not held and name <> '')
    and state = 'waiting' and waits_for = 'limit' and wake_at is null and locked_by is null

-- name: wake
-- Makes those of the tasks due that wait for a permit, or for the end of the task that they replace: they ask again.
update {schema}.task set wake_at = $2::float8
where uid = any({chunk}) and state = 'waiting' and waits_for in ('limit', 'predecessor')
    and wake_at is null and locked_by is null

-- name: stage
-- Inserts a part of a shard that arrives, unseen until all of it is there.
insert into {schema}.meta values ($1, encode($2::bytea, 'base64'))

-- name: staged
-- Returns the places of the parts of what arrives, in order.
select key from {schema}.meta where key >= $1 and key < $2 order by key

-- name: part
-- Returns a part of what arrives.
select decode(value, 'base64') from {schema}.meta where key = $1

-- name: forget_staged
-- Deletes the parts of what arrives.
delete from {schema}.meta where key >= $1 and key < $2

-- name: key_marks
-- Returns the marks of encryption keys, and whether large payloads are kept outside.
select key, value from {schema}.meta
where (key >= 'encryption_key:' and key < 'encryption_key;') or key = 'large_payloads'

-- name: keep_mark
-- Inserts a mark, unless it is there.
insert into {schema}.meta values ($1, $2) on conflict (key) do nothing

-- name: delete_receipts
-- Deletes the receipts of the alerts of tasks.
delete from {schema}.alert_receipt where number in (select number from {schema}.alert where task = any({chunk}))

-- name: withdraw
-- Deletes the requests of tasks that were not taken yet, found by the beginning of their bodies.
delete from {schema}.message
where substring(body from 1 for 26) = '\x7b2274797065223a2272657175657374222c227461736b223a22'::bytea and tries = 0
    and substring(body from 1 for 63) = any(array(
        select convert_to('{"type":"request","task":"' || uid || '"', 'UTF8') from unnest({chunk}) as u (uid)))

-- name: columns
-- Returns the columns of a table, without the numbers of transactions, which are each server's own.
select attname::text from pg_attribute
where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attname <> 'xid' order by attnum

-- name: primary_key
-- Returns the columns of a table's primary key.
select a.attname::text from pg_index as i
join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any(i.indkey::smallint[])
where i.indrelid = $1::text::regclass and i.indisprimary
