-- name: note
-- What the code at work on an attempt told last; what was told in an attempt before gives way to it.
update stepward_step set progress = ?5, progress_at = ?6
where task = ?1 and run = ?2 and key = ?3 and attempt = ?4 and state = 'running'
    and (progress_at is null or progress_at < ?6 or progress_at < started_at)
