-- name: find_schema
-- Whether the schema is there.
select 1 from pg_namespace where nspname = $1

-- name: find_meta
-- Whether Stepward's own table is there.
select 1 from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = 'meta' and c.relkind = 'r'

-- name: read_meta
-- What the store says of itself.
select key, value from {schema}.meta where key in ('app', 'schema_version', 'store_id')

-- name: write_meta
-- Say it.
insert into {schema}.meta (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value

-- name: lock
-- One process migrates at a time: whether this transaction is the one.
select pg_try_advisory_xact_lock(hashtextextended('stepward migration ' || $1, 0))

-- name: parts_done
-- How many parts of the next migration are done.
select coalesce((select value from {schema}.meta where key = 'schema_part'), '0')

-- name: lock_version
-- Nobody else notes that a part is done before this transaction ends.
select 1 from {schema}.meta where key = 'schema_version' for update

-- name: find_index
-- Whether an index is whole: one that could not be made to its end stays behind, and is used by nobody.
select i.indisvalid from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace join pg_index as i on i.indexrelid = c.oid
where n.nspname = $1 and c.relname = $2

-- name: holders
-- Whose transactions hold tables of the schema; the table that says its version is ours.
select distinct a.pid, a.application_name, a.usename::text
from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
where l.locktype = 'relation' and l.granted and l.pid <> pg_backend_pid()
    and l.database = (select oid from pg_database where datname = current_database())
    and l.relation in (select c.oid from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname <> 'meta')
order by a.pid limit 5

-- name: stores
-- The schemas of this database that may be Stepward's.
select n.nspname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.relname = 'meta' and c.relkind = 'r' and n.nspname like 'stepward\_%' order by 1

-- name: break_off
-- Break off the statement of that session if it waits for a table.
select pg_cancel_backend(pid) from pg_stat_activity
where pid = $1 and wait_event_type = 'Lock' and wait_event = 'relation'
