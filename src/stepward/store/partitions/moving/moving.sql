-- name: record
-- Returns the place of the store among several of the application.
select value from stepward_meta where key = 'partition'

-- name: write_record
-- Writes the place of the store among several.
insert into stepward_meta values ('partition', ?1) on conflict (key) do update set value = excluded.value

-- name: batches
-- Returns how many batches have not ended.
select count(*) from stepward_batch where state in ('running', 'paused')

-- name: schedulers
-- Returns how many Schedulers are alive.
select count(*) from stepward_instance where role = 'scheduler' and alive = 1

-- name: uid_at
-- Returns the uid of the task in a row.
select uid from stepward_task where rowid = ?1

-- name: tasks_after
-- Returns tasks after a row, in the order of their insertion.
select rowid, uid, id from stepward_task where rowid > ?1 order by rowid limit ?2

-- name: messages_after
-- Returns messages after a token.
select token, queue, body from stepward_message where token > ?1 order by token limit ?2

-- name: letters_after
-- Returns dead letters after a number.
select number, queue, body from stepward_dead_letter where number > ?1 order by number limit ?2

-- name: keyed
-- Returns the ids of the tasks that hold a key, or are replaced by the one that does, with the key; ended tasks with
-- chosen ids hold none.
select t.id, k.key from stepward_submission_key as k cross join stepward_task as t on t.uid in (k.task, k.predecessor)
where t.id = t.uid or t.state not in ('processed', 'undone', 'cancelled', 'error')

-- name: keys
-- Returns the keys of submissions under a rule.
select workflow, rule, key from stepward_submission_key

-- name: schedules
-- Returns the names of schedules.
select name from stepward_schedule

-- name: give_back
-- Releases tasks without counting a failure, as when their instance retires; waiting tasks stay waiting.
update stepward_task
set locked_by = null, complete_by = case when state = 'waiting' then complete_by end,
    wake_at = case when state <> 'waiting' then null
        when exists (select 1 from stepward_inbox where task = uid) then ?2 else wake_at end,
    waits_for = case when state = 'waiting' then waits_for end,
    state = case when state in ('undoing', 'suspended', 'waiting') then state else 'pending' end
where uid in (select value from json_each(?1)) and locked_by is not null

-- name: unwatch
-- Lets running steps be sent again at once: replies to the instance that had them stay behind. What is to be finished
-- from outside stays as it is.
update stepward_step set watched = 0
where task in (select value from json_each(?1)) and watched = 1 and deferred_at is null and complete_by > ?2

-- name: permits
-- Returns how many of the tasks have a permit.
select count(*) from stepward_task_permit where held = 1 and task in (select value from json_each(?1))

-- name: ask_again
-- Makes the tasks due that wait for a permit: they ask again.
update stepward_task set wake_at = ?1
where uid in (select task from stepward_task_permit where held = 0 and name <> '')
    and state = 'waiting' and waits_for = 'limit' and wake_at is null and locked_by is null

-- name: wake
-- Makes those of the tasks due that wait for a permit, or for the end of the task that they replace: they ask again.
update stepward_task set wake_at = ?2
where uid in (select value from json_each(?1)) and state = 'waiting' and waits_for in ('limit', 'predecessor')
    and wake_at is null and locked_by is null

-- name: stage
-- Inserts a part of a shard that arrives, unseen until all of it is there.
insert into stepward_meta values (?1, ?2)

-- name: staged
-- Returns the places of the parts of what arrives, in order.
select key from stepward_meta where key >= ?1 and key < ?2 order by key

-- name: part
-- Returns a part of what arrives.
select value from stepward_meta where key = ?1

-- name: forget_staged
-- Deletes the parts of what arrives.
delete from stepward_meta where key >= ?1 and key < ?2

-- name: key_marks
-- Returns the marks of encryption keys, and whether large payloads are kept outside.
select key, value from stepward_meta
where (key >= 'encryption_key:' and key < 'encryption_key;') or key = 'large_payloads'

-- name: keep_mark
-- Inserts a mark, unless it is there.
insert into stepward_meta values (?1, ?2) on conflict (key) do nothing

-- name: delete_receipts
-- Deletes the receipts of the alerts of tasks.
delete from stepward_alert_receipt
where number in (select number from stepward_alert where task in (select value from json_each(?1)))

-- name: last_number
-- Returns the number of the row that was inserted last.
select last_insert_rowid()

-- name: withdraw
-- Deletes the requests of tasks that were not taken yet, found by the beginning of their bodies.
delete from stepward_message
where substr(body, 1, 26) = x'7b2274797065223a2272657175657374222c227461736b223a22' and tries = 0
    and substr(body, 1, 63) in (select cast('{"type":"request","task":"' || value || '"' as blob) from json_each(?1))

-- name: columns
-- Returns the columns of a table.
select name from pragma_table_info(?1)

-- name: primary_key
-- Returns the columns of a table's primary key.
select name from pragma_table_info(?1) where pk > 0 order by pk
