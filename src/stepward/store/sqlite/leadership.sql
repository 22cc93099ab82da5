-- name: read
-- Who leads.
select instance, term, expires_at from stepward_leadership

-- name: read_to_lead
-- Who leads, for whoever would.
select instance, term, expires_at from stepward_leadership

-- name: prove
-- The term still leads. Term 0 is free.
select term, 0.0 from stepward_leadership where term = ?1 and term > 0

-- name: is_dead
-- Whether an instance was declared dead; one that never registered was not.
select 1 from stepward_instance where id = ?1 and alive = 0

-- name: stay
-- A leader that was not declared dead keeps its seat.
update stepward_leadership set expires_at = ?3
where instance = ?1 and term = ?2
    and not exists (select 1 from stepward_instance where id = ?1 and alive = 0)

-- name: write
-- Take or keep the one seat.
insert into stepward_leadership (seat, instance, term, expires_at) values (1, ?1, ?2, ?3)
on conflict (seat) do update
set instance = excluded.instance, term = excluded.term, expires_at = excluded.expires_at
