-- name: line
-- Returns the cluster's id, and the WAL file that its primary writes; null on a standby.
select system_identifier, case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end
from pg_control_system()

-- name: waiting
-- Returns how many commits of this user wait for a standby, and how many of them for more than a second.
select count(*), count(*) filter (where state_change < clock_timestamp() - interval '1 second')
from pg_stat_activity where usename = current_user and wait_event = 'SyncRep'

-- name: follow
-- Writes an empty message to the WAL, so that the commit of this transaction waits for the standbys.
select pg_logical_emit_message(true, 'stepward', '')

-- name: server
-- Returns the server's version, database, user, clock, connections and settings, as they apply to this user.
select split_part(current_setting('server_version'), ' ', 1), current_database()::text, current_user::text,
    extract(epoch from clock_timestamp())::float8,
    (select coalesce(sum(numbackends), 0) from pg_stat_database)::integer,
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true), '0')::integer,
    (select count(*) from pg_stat_activity
        where usename = current_user and datname = current_database() and application_name ~ '^(shared )?stepward[_:]')::integer,
    current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),
    current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
    current_setting('statement_timeout') <> '0' and current_setting('idle_in_transaction_session_timeout') <> '0'

-- name: standbys
-- Returns the attached standbys; without pg_monitor or a similar role only how many there are.
select application_name, state, sync_state, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint
from pg_stat_replication order by application_name, pid
