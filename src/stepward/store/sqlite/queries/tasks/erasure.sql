-- name: descendants
-- Returns the descendants of a task, found by the beginning of their ids.
select uid, id, state, reply_to, events_to from stepward_task where id > ?1 and id < ?2 order by id limit ?3

-- name: parent_is_over
-- Returns whether the parent of a task, if there is one, needs it no more.
select {parent_is_over} from stepward_task as t where t.uid = ?1

-- name: delete_receipts
-- Deletes the receipts of the alerts of tasks.
delete from stepward_alert_receipt where number in (select number from stepward_alert where task in (select value from json_each(?1)))

-- name: delete_alerts
-- Deletes the alerts of tasks.
delete from stepward_alert where task in (select value from json_each(?1))

-- name: delete_letters
-- Deletes the dead letters that quote a task's uid, or its id in quotes.
delete from stepward_dead_letter where instr(body, ?1) > 0 or instr(body, ?2) > 0

-- name: events
-- Returns the messages of a queue, and of each whether it is a status event of a task or its descendants.
select token, instr(body, ?2) > 0 from stepward_message where queue = ?1

-- name: delete_events
-- Deletes messages of a queue.
delete from stepward_message where token = ?1 and queue = ?2

-- name: acts
-- Returns the acts on tasks that have details, oldest first.
select {audit}, hash from stepward_audit where task in (select value from json_each(?1)) and details <> ?2 and details <> ?3 order by number limit ?4

-- name: mark_acts
-- Replaces the details of acts by the mark.
update stepward_audit set details = ?2 where number in (select value from json_each(?1))

-- name: use_archive
-- Records that tasks of this store are archived.
insert into stepward_meta values ('archive', '') on conflict (key) do nothing

-- name: note_erased
-- Records a deleted task, by whom and in which batch, for the erasure of what is archived of it; nothing where no task is
-- archived.
insert into stepward_meta select 'erased/' || ?1, ?2
where exists (select 1 from stepward_meta where key = 'archive') on conflict do nothing

-- name: erased
-- Returns deleted tasks of which the archive may still have something, by whom and in which batch they were deleted.
select substr(key, 8), value from stepward_meta where key >= 'erased/' and key < 'erased0' order by key limit ?1

-- name: forget_erased
-- Removes the record of deleted tasks of which the archive has nothing any more.
delete from stepward_meta where key in (select 'erased/' || value from json_each(?1))
