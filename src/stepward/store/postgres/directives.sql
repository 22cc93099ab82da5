-- name: step
-- The step of that key, of the latest run that has it.
select {step} from {schema}.step where task = $1 and key = $2 order by run desc limit 1

-- name: repeat
-- A failed step is repeated; a new generation keeps the service from answering with the failure it knows.
update {schema}.step
set state = 'to_repeat', repeat_at = $4, ordinal = null, finished_at = null, output = null,
    generation = generation + (not in_doubt or $5::bytea is not null)::integer, input = coalesce($5, input)
where task = $1 and run = $2 and key = $3 and state = 'failed'

-- name: repeat_child
-- A child step is at work as long as its child is.
update {schema}.step
set state = 'running', attempt = attempt + 1, started_at = $4, repeat_at = null, in_doubt = false, error = null
where task = $1 and run = $2 and key = $3 and state = 'to_repeat'

-- name: repeat_expired
-- What ran out of time and was never told to the workflow, and undos that failed, are repeated with it.
update {schema}.step
set state = 'to_repeat', repeat_at = $3, ordinal = null, finished_at = null, output = null,
    generation = generation + (not in_doubt)::integer
where task = $1 and state = 'failed'
    and ((run = $2 and ordinal is null and in_doubt) or kind = 'undo')

-- name: told_later
-- Whether the workflow was told of an outcome after that one.
select 1 from {schema}.step where task = $1 and run = $2 and ordinal > $3 limit 1

-- name: mark_done
-- An operator has seen to the step by hand.
update {schema}.step
set state = 'completed', output = $4, error = null, ordinal = null, in_doubt = false, watched = false,
    repeat_at = null, finished_at = $5
where task = $1 and run = $2 and key = $3
