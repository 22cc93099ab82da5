-- name: count
-- An owner tells more of its task; nobody else may have told since it read the row.
update stepward_task set events = ?3 where uid = ?1 and events = ?2

-- name: next
-- One more event of a task that has no owner; its sequence.
update stepward_task set events = events + 1 where uid = ?1 returning events

-- name: put
-- An event at the end of its queue.
insert into stepward_message (queue, body, expires_at, taken_until) values (?1, ?2, ?3, 0.0)
