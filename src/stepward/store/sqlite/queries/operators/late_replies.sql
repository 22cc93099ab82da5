-- name: undo_began
-- Returns whether the undo of a step, or of a generation that a repair set aside, has begun while the step has no
-- result. The key of an undo is the step's key with ~undo.
select exists (
    select 1 from stepward_step as s
    where task = ?1 and run = ?2 and output is null
        and (key = ?3
            or key > ?3 || '~' and key < ?3 || '~:' and set_aside_at is not null and attempt = ?4)
        and (state = 'undone' or exists (
            select 1 from stepward_step as undo
            where undo.task = s.task and undo.run = s.run and undo.key = s.key || '~undo' and undo.kind = 'undo')))

-- name: denied
-- Returns whether a repair set that attempt aside as one that was not executed.
select exists (
    select 1 from stepward_step
    where task = ?1 and run = ?2 and key > ?3 || '~' and key < ?3 || '~:' and set_aside_at is not null
        and attempt = ?4 and state = 'failed' and not in_doubt and output is null)
