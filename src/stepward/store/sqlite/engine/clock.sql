-- name: read_offset
-- The offset that belongs to this start of the host.
select value from stepward_meta
where key = 'clock_offset' and ?1 = (select value from stepward_meta where key = 'boot_id')

-- name: latest_instant
-- The greatest instant that the store knows: renewals come every few seconds while anything lives.
select coalesce(max(renewed_at), 0.0) from stepward_instance

-- name: write_boot_id
-- Which start of the host the offset belongs to.
insert into stepward_meta values ('boot_id', ?1) on conflict (key) do update set value = excluded.value

-- name: write_offset
-- What to add to the boot clock.
insert into stepward_meta values ('clock_offset', ?1) on conflict (key) do update set value = excluded.value
