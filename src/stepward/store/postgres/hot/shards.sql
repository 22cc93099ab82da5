-- name: enter
-- Locks the shards of the store in their place until the transaction ends; waits while one moves.
select pg_advisory_xact_lock_shared(hashtextextended('{schema} shards', 0))

-- name: close
-- Waits for every transaction that has entered, and lets none enter until this one ends.
select pg_advisory_xact_lock(hashtextextended('{schema} shards', 0))

-- name: held
-- Returns 0 if the store holds these shards, and else fails.
select case when (select value::json ->> 'shards' from {schema}.meta where key = 'partition') = $1
    then 0.0::float8 else {schema}.miss('shards') end
