-- name: read
-- Who leads.
select instance, term, expires_at from {schema}.leadership

-- name: read_to_lead
-- Who leads; whoever else would lead waits for what becomes of it.
select instance, term, expires_at from {schema}.leadership for update

-- name: prove
-- The term still leads, and no other begins to before this transaction ends; the server's clock. Term 0 is free.
select term, extract(epoch from clock_timestamp())::float8 from {schema}.leadership where term = $1 and term > 0 for share

-- name: is_dead
-- Whether an instance was declared dead; one that never registered was not.
select 1 from {schema}.instance where id = $1 and not alive

-- name: stay
-- A leader that was not declared dead keeps its seat.
update {schema}.leadership set expires_at = $3
where instance = $1 and term = $2
    and not exists (select 1 from {schema}.instance where id = $1 and not alive)

-- name: write
-- Take or keep the one seat.
update {schema}.leadership set instance = $1, term = $2, expires_at = $3
