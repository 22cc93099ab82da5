-- name: read
-- Returns the leading Supervisor with its term and lease.
select instance, term, expires_at from {schema}.leadership

-- name: read_to_lead
-- Returns the leading Supervisor and locks the row, so that other candidates wait for this transaction.
select instance, term, expires_at from {schema}.leadership for update

-- name: prove
-- Returns whether the term still leads, with the server's clock; no other term begins before this transaction ends.
-- Term 0 means that no Supervisor leads.
select term, extract(epoch from clock_timestamp())::float8 from {schema}.leadership where term = $1 and term > 0 for share

-- name: is_dead
-- Returns whether an instance was declared dead; an instance that was never registered was not.
select 1 from {schema}.instance where id = $1 and not alive

-- name: stay
-- Extends the lease of a leader that was not declared dead.
update {schema}.leadership set expires_at = $3
where instance = $1 and term = $2
    and not exists (select 1 from {schema}.instance where id = $1 and not alive)

-- name: write
-- Makes an instance the leader, with its term and lease.
update {schema}.leadership set instance = $1, term = $2, expires_at = $3
