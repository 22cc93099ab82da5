-- name: count
-- Updates the number of status events of a task that the caller holds; no event may have been added by another process
-- since it read the row.
update stepward_task set events = ?3 where uid = ?1 and events = ?2

-- name: next
-- Counts one more status event of a task without an owner, and returns its sequence number.
update stepward_task set events = events + 1 where uid = ?1 returning events

-- name: put
-- Appends a status event to its queue.
insert into stepward_message (queue, body, expires_at, taken_until) values (?1, ?2, ?3, 0.0)
