-- name: descendants
-- Returns the descendants of a task, found by the beginning of their ids, locked.
select uid, id, state, reply_to, events_to from {schema}.task where id > $1 and id < $2 order by id limit $3 for update

-- name: parent_is_over
-- Returns whether the parent of a task, if there is one, needs it no more.
select {parent_is_over} from {schema}.task as t where t.uid = $1

-- name: delete_receipts
-- Deletes the receipts of the alerts of tasks.
delete from {schema}.alert_receipt where number in (select number from {schema}.alert where task = any($1::text[]))

-- name: delete_alerts
-- Deletes the alerts of tasks.
delete from {schema}.alert where task = any($1::text[])

-- name: delete_letters
-- Deletes the dead letters that quote a task's uid, or its id in quotes.
delete from {schema}.dead_letter as d using unnest($1::bytea[], $2::bytea[]) as v (uid, id)
where position(v.uid in d.body) > 0 or position(v.id in d.body) > 0

-- name: events
-- Returns the messages of a queue, and of each whether it is a status event of a task or its descendants.
select token, position($2::bytea in body) > 0 from {schema}.message where queue = $1

-- name: delete_events
-- Deletes messages of a queue.
delete from {schema}.message where token = any($1::bigint[]) and queue || '' = $2

-- name: acts
-- Returns the acts on tasks that have details, oldest first.
select {audit}, hash from {schema}.audit where task = any($1::text[]) and details <> $2 and details <> $3 order by number limit $4

-- name: mark_acts
-- Replaces the details of acts by the mark.
update {schema}.audit set details = $2 where number = any($1::bigint[])

-- name: use_archive
-- Records that tasks of this store are archived.
insert into {schema}.meta values ('archive', '') on conflict (key) do nothing

-- name: note_erased
-- Records a deleted task, by whom and in which batch, for the erasure of what is archived of it; nothing where no task is
-- archived.
insert into {schema}.meta select 'erased/' || v.uid, v.note from unnest($1::text[], $2::text[]) as v (uid, note)
where exists (select 1 from {schema}.meta where key = 'archive') on conflict do nothing

-- name: erased
-- Returns deleted tasks of which the archive may still have something, by whom and in which batch they were deleted.
select substr(key, 8), value from {schema}.meta where key >= 'erased/' and key < 'erased0' order by key limit $1

-- name: forget_erased
-- Removes the record of deleted tasks of which the archive has nothing any more.
delete from {schema}.meta where key = any(select 'erased/' || uid from unnest($1::text[]) as uid)
