-- name: find_schema
-- Whether the schema is there.
select 1 from pg_namespace where nspname = $1

-- name: find_meta
-- Whether Stepward's own table is there.
select 1 from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = 'meta' and c.relkind = 'r'

-- name: read_meta
-- What the store says of itself.
select key, value from {schema}.meta where key in ('app', 'schema_version')

-- name: write_meta
-- Say it.
insert into {schema}.meta (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value

-- name: lock
-- One process migrates at a time.
select pg_advisory_xact_lock(hashtextextended('stepward migration ' || $1, 0))

-- name: stores
-- The schemas of this database that may be Stepward's.
select n.nspname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.relname = 'meta' and c.relkind = 'r' and n.nspname like 'stepward\_%' order by 1
