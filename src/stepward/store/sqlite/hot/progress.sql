-- name: note
-- Writes the latest progress of a running attempt, which replaces the progress of an earlier attempt.
update stepward_step set progress = ?5, progress_at = ?6
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 and state = 'running'
    and (progress_at is null or progress_at < ?6 or progress_at < started_at)
