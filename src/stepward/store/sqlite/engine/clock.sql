-- name: read_offset
-- Returns the clock offset of this boot of the host.
select value from stepward_meta
where key = 'clock_offset' and ?1 = (select value from stepward_meta where key = 'boot_id')

-- name: latest_instant
-- Returns the greatest instant in the store: leases are renewed every few seconds while an instance lives.
select coalesce(max(renewed_at), 0.0) from stepward_instance

-- name: write_boot_id
-- Writes the boot of the host that the offset belongs to.
insert into stepward_meta values ('boot_id', ?1) on conflict (key) do update set value = excluded.value

-- name: write_offset
-- Writes the offset, in seconds, to add to the boot clock.
insert into stepward_meta values ('clock_offset', ?1) on conflict (key) do update set value = excluded.value
