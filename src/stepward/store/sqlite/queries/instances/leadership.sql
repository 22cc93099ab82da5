-- name: read
-- Returns the leading Supervisor with its term and lease.
select instance, term, expires_at from stepward_leadership

-- name: read_to_lead
-- Returns the leading Supervisor, for a candidate; the write transaction holds the whole file.
select instance, term, expires_at from stepward_leadership

-- name: prove
-- Returns whether the term still leads. Term 0 means that no Supervisor leads.
select term, 0.0 from stepward_leadership where term = ?1 and term > 0

-- name: is_dead
-- Returns whether an instance was declared dead; an instance that was never registered was not.
select 1 from stepward_instance where id = ?1 and alive = 0

-- name: stay
-- Extends the lease of a leader that was not declared dead.
update stepward_leadership set expires_at = ?3
where instance = ?1 and term = ?2
    and not exists (select 1 from stepward_instance where id = ?1 and alive = 0)

-- name: write
-- Makes an instance the leader, with its term and lease.
insert into stepward_leadership (seat, instance, term, expires_at) values (1, ?1, ?2, ?3)
on conflict (seat) do update
set instance = excluded.instance, term = excluded.term, expires_at = excluded.expires_at
