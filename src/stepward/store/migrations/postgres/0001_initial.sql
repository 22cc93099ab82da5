-- The tables of Stepward, in a schema of the application's own. Columns of task and step stand in the order of the
-- records' fields. Texts that are compared or sorted are so by their bytes, as on SQLite.
--
-- Task and step rows leave room in their pages, and no index names a column that a step's usual updates change: those
-- stay within the page (HOT). An index on every running step would halve the throughput.

create table {schema}.meta (
    key text collate "C" not null primary key,
    value text not null
);

create table {schema}.task (
    uid text collate "C" not null primary key,
    id text collate "C" not null unique,
    workflow text collate "C" not null,
    version text collate "C" not null,
    state text collate "C" not null check (state in
        ('processing', 'processed', 'pending', 'waiting', 'suspended', 'undoing', 'undone', 'cancelled', 'error')),
    priority integer not null,
    fairness_key text,
    labels bytea not null,
    run integer not null check (run >= 1),
    input bytea not null,
    output bytea,
    error bytea,
    locked_by text collate "C",
    complete_by float8,
    wake_at float8,
    waits_for text,
    undo_to text check (undo_to in ('undone', 'cancelled')),
    inbox integer not null check (inbox >= 0),
    failure_count integer not null check (failure_count >= 0),
    recovery_count integer not null check (recovery_count >= 0),
    parent text collate "C",
    parent_run integer,
    parent_step text,
    reply_to text,
    created_at float8 not null,
    started_at float8,
    finished_at float8,
    events integer not null default 0,
    constraint task_owned check (locked_by is null or (finished_at is null and state <> 'pending')),
    constraint task_owner check (locked_by is not null or state <> 'processing'),
    constraint task_undo check (undo_to is not null or state not in ('undoing', 'undone')),
    constraint task_finished check
        ((finished_at is not null) = (state in ('processed', 'undone', 'cancelled', 'error')))
) with (fillfactor = 70);

-- Tasks that Schedulers claim.
create index task_claimable on {schema}.task (workflow, version, priority desc, uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');
-- Tasks that become claimable at wake_at.
create index task_waking on {schema}.task (wake_at)
    where locked_by is null and wake_at is not null and state in ('pending', 'waiting', 'undoing');
create index task_held on {schema}.task (locked_by) where locked_by is not null;
create index task_deadline on {schema}.task (complete_by)
    where complete_by is not null and finished_at is null and state <> 'undoing';
-- Tasks that operators list by state; tasks in processing are found by their owner.
create index task_listed on {schema}.task (state, uid)
    where state not in ('processing', 'processed', 'undone', 'cancelled');
-- Tasks that retention deletes.
create index task_finished on {schema}.task (finished_at) where finished_at is not null and state <> 'error';

create table {schema}.step (
    task text collate "C" not null,
    run integer not null,
    key text collate "C" not null,
    number integer not null,
    name text not null,
    kind text not null check (kind in
        ('operation', 'undo', 'local', 'transaction', 'child', 'timer', 'signal', 'value')),
    state text not null check (state in
        ('running', 'completed', 'not_started', 'to_repeat', 'failed', 'abandoned', 'skipped', 'undone')),
    agent text,
    attempt integer not null check (attempt >= 0),
    failure_count integer not null check (failure_count >= 0),
    complete_by float8,
    complete_seconds float8,
    started_at float8,
    finished_at float8,
    repeat_at float8,
    ordinal integer,
    input bytea not null,
    output bytea,
    error bytea,
    has_undo boolean not null,
    irreversible boolean not null,
    in_doubt boolean not null,
    watched boolean not null,
    generation integer not null check (generation >= 0),
    primary key (task, run, key),
    constraint step_started check (attempt > 0 or state <> 'running')
) with (fillfactor = 70);

-- A step is watched only while it runs; its condition names no column that an unwatched step's end changes.
create index step_watched on {schema}.step (complete_by) where watched;

-- Numbers are never reused. Owners read on after the last number that they have seen; as transactions do not commit
-- in the order of their numbers, xid shows which rows an earlier snapshot could not see.
create table {schema}.inbox (
    number bigint generated always as identity primary key,
    task text collate "C" not null,
    kind text not null check (kind in
        ('signal', 'undo', 'cancel', 'suspend', 'fail', 'step', 'child', 'reply')),
    name text not null,
    body bytea not null,
    sender text not null,
    xid xid8 not null default pg_current_xact_id()
);

create index inbox_task on {schema}.inbox (task);
create index inbox_xid on {schema}.inbox (xid);

create table {schema}.signal_seen (
    task text collate "C" not null,
    name text collate "C" not null,
    id text collate "C" not null,
    primary key (task, name, id)
);

create table {schema}.instance (
    id text collate "C" not null primary key,
    role text not null check (role in ('scheduler', 'agent', 'supervisor', 'submission')),
    host text not null,
    pid integer not null,
    serves text not null,
    started_at float8 not null,
    expires_at float8 not null,
    alive boolean not null,
    capacity integer not null,
    renewed_at float8 not null,
    silent_at float8,
    dead_at float8,
    constraint instance_dead check ((dead_at is null) = alive)
) with (fillfactor = 50);

-- One row: a Supervisor that stands for election waits until the leader's transaction ends.
create table {schema}.leadership (
    seat integer primary key check (seat = 1),
    instance text not null,
    term integer not null,
    expires_at float8 not null
);

insert into {schema}.leadership values (1, '', 0, 0.0);

create table {schema}.alert (
    number bigint generated always as identity primary key,
    at float8 not null,
    kind text not null,
    task text collate "C",
    task_id text,
    step text,
    message text not null,
    details bytea not null,
    delivered_at float8,
    tries integer not null,
    acknowledged_at float8,
    acknowledged_by text,
    next_try float8 not null,
    constraint alert_acknowledged check ((acknowledged_at is null) = (acknowledged_by is null))
);

create index alert_open on {schema}.alert (number) where acknowledged_at is null;
create index alert_undelivered on {schema}.alert (next_try) where delivered_at is null;

create table {schema}.audit (
    number bigint generated always as identity primary key,
    at float8 not null,
    actor text not null,
    act text not null,
    task text collate "C",
    step text,
    before text,
    after text,
    details bytea not null,
    hash bytea not null
);

create index audit_task on {schema}.audit (task) where task is not null;

create table {schema}.workflow (
    name text collate "C" not null,
    version text collate "C" not null,
    schema bytea not null,
    policy bytea not null,
    complete_seconds float8,
    plan bytea,
    registered_at float8 not null,
    primary key (name, version)
);

create table {schema}.message (
    token bigint generated always as identity primary key,
    queue text collate "C" not null,
    body bytea not null,
    expires_at float8,
    taken_until float8 not null default 0.0,
    tries integer not null default 0,
    xid xid8 not null default pg_current_xact_id()
) with (fillfactor = 70);

create index message_queue on {schema}.message (queue, taken_until, token);

-- Messages that cannot be processed, with the reason, until an operator puts them back or discards them.
create table {schema}.dead_letter (
    number bigint generated always as identity primary key,
    queue text not null,
    body bytea not null,
    reason text not null,
    tries integer not null,
    buried_at float8 not null
);

-- Schedules of recurring tasks: the leading Supervisor fires each nominal time once.
create table {schema}.schedule (
    name text collate "C" not null primary key,
    workflow text not null,
    version text not null,
    input bytea not null,
    cron text not null,
    timezone text not null,
    catch_up text not null check (catch_up in ('one', 'all', 'none')),
    priority integer not null,
    complete_seconds float8,
    next_at float8,
    fired_at float8,
    paused_at float8
);

create index schedule_due on {schema}.schedule (next_at) where paused_at is null and next_at is not null;

-- Raises an error in a statement whose parts did not all apply, so that it is rolled back as a whole.
create function {schema}.miss(part text) returns float8 language plpgsql as $$
begin
    raise exception using errcode = 'SW001', message = part;
end $$;
