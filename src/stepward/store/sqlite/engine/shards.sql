-- name: held
-- Returns the shards that the store holds, if it is a partition.
select value ->> 'shards' from stepward_meta where key = 'partition'
