-- name: is_used
-- Returns whether payloads of this store were ever kept outside it.
select exists (select 1 from stepward_meta where key = 'large_payloads')

-- name: use
-- Records that payloads of this store are kept outside it.
insert into stepward_meta values ('large_payloads', '') on conflict (key) do nothing

-- name: note_deleted
-- Records deleted tasks whose objects are to be deleted too, where there are any.
insert into stepward_meta select 'objects/' || value, '' from json_each(?1)
where exists (select 1 from stepward_meta where key = 'large_payloads') on conflict do nothing

-- name: deleted
-- Returns deleted tasks whose objects are still to be deleted.
select substr(key, 9) from stepward_meta where key >= 'objects/' and key < 'objects0' order by key limit ?1

-- name: forget_deleted
-- Removes the record of deleted tasks whose objects are deleted.
delete from stepward_meta where key in (select 'objects/' || value from json_each(?1))

-- name: known
-- Returns those of the tasks that exist.
select uid from stepward_task where uid in (select value from json_each(?1))

-- name: descendants
-- Returns the uids of the descendants of a task, found by their beginning.
select uid from stepward_task where uid > ?1 and uid < ?2 order by uid limit ?3
