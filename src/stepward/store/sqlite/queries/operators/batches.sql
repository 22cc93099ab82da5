-- name: add
-- Inserts a new batch.
insert into stepward_batch ({batch}) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)

-- name: one
-- Returns the batch of that id.
select {batch} from stepward_batch where id = ?1

-- name: lock
-- Locks the batch of that id.
select {batch} from stepward_batch where id = ?1

-- name: listed
-- Returns batches, newest first.
select {batch} from stepward_batch order by created_at desc, id desc limit ?1

-- name: running
-- Returns batches that run, the one that waits longest first.
select {batch} from stepward_batch where state = 'running' order by next_at, id limit ?1

-- name: write
-- Writes its progress, state and rate.
update stepward_batch
set state = ?2, rate = ?3, done = ?4, refused = ?5, refusals = ?6, cursor_at = ?7, cursor_uid = ?8, next_at = ?9, finished_at = ?10
where id = ?1
