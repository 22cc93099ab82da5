-- name: find_schema
-- Returns whether the schema exists.
select 1 from pg_namespace where nspname = $1

-- name: find_meta
-- Returns whether Stepward's meta table exists.
select 1 from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = 'meta' and c.relkind = 'r'

-- name: read_meta
-- Returns the app, the schema version and the id of the store.
select key, value from {schema}.meta where key in ('app', 'schema_version', 'store_id')

-- name: write_meta
-- Writes a value of the meta table.
insert into {schema}.meta (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value

-- name: lock
-- Returns whether this transaction has the lock of migrations, which one process at a time has.
select pg_try_advisory_xact_lock(hashtextextended('stepward migration ' || $1, 0))

-- name: parts_done
-- Returns how many parts of the next migration are done.
select coalesce((select value from {schema}.meta where key = 'schema_part'), '0')

-- name: lock_version
-- Locks the schema version, so that no other process records a part as done before this transaction ends.
select 1 from {schema}.meta where key = 'schema_version' for update

-- name: find_index
-- Returns whether an index is valid; an index whose creation was interrupted stays behind and is not used.
select i.indisvalid from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace join pg_index as i on i.indexrelid = c.oid
where n.nspname = $1 and c.relname = $2

-- name: holders
-- Returns the sessions whose transactions hold locks on tables of the schema. The meta table is left out: the migration
-- itself locks it.
select distinct a.pid, a.application_name, a.usename::text
from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
where l.locktype = 'relation' and l.granted and l.pid <> pg_backend_pid()
    and l.database = (select oid from pg_database where datname = current_database())
    and l.relation in (select c.oid from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname <> 'meta')
order by a.pid limit 5

-- name: stores
-- Returns the schemas of this database that may be Stepward's.
select n.nspname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.relname = 'meta' and c.relkind = 'r' and n.nspname like 'stepward\_%' order by 1

-- name: break_off
-- Cancels the statement of that session if it waits for a table.
select pg_cancel_backend(pid) from pg_stat_activity
where pid = $1 and wait_event_type = 'Lock' and wait_event = 'relation'
