-- name: wake
-- Makes a waiting task without an owner claimable, because a step of it has an outcome.
update stepward_task set wake_at = min(coalesce(wake_at, ?2), ?2)
where uid = ?1 and locked_by is null and state = 'waiting'

-- name: defer
-- Marks a running attempt as deferred: a holder of its completion token finishes it.
update stepward_step set watched = 1, deferred_at = ?5
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 and state = 'running'
