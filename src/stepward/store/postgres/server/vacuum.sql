-- name: holds
-- Returns what keeps dead rows or WAL from being removed: old transactions of this database, prepared transactions, and
-- replication slots without a reader. A user who may not see when a transaction began sees how many have begun since.
select 'transaction', pid::text, concat_ws(', ', nullif(application_name, ''), 'user ' || usename),
    extract(epoch from clock_timestamp() - xact_start)::float8, null::bigint
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)
    and (xact_start < clock_timestamp() - make_interval(secs => $1::float8) or age(backend_xmin) > 1000000)
union all
select 'prepared', gid, 'user ' || owner, extract(epoch from clock_timestamp() - prepared)::float8, null
from pg_prepared_xacts
where database = current_database() and prepared < clock_timestamp() - make_interval(secs => $1::float8)
union all
select 'slot', slot_name, slot_type, null, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
from pg_replication_slots where not active and restart_lsn is not null
order by 1, 4 desc, 2 limit 20

-- name: bloat
-- Returns tables of the schema with more dead rows than live ones, and at least a given number of dead rows.
select relname::text, n_dead_tup, n_live_tup from pg_stat_user_tables
where schemaname = $1 and n_dead_tup >= $2::bigint and n_dead_tup > n_live_tup order by n_dead_tup desc

-- name: autovacuum
-- Returns whether autovacuum is on, for the server and for every table of the schema.
select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean and not exists (
    select 1 from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = $1 and c.reloptions && array['autovacuum_enabled=false', 'autovacuum_enabled=off'])
