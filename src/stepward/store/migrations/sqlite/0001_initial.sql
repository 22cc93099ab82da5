-- The tables of Stepward. Columns of task and step stand in the order of the records' fields. Their checks compare
-- one by one, the usual value first: for each IN of more than two SQLite builds a table whenever a statement runs,
-- which costs a step 3 µs.

create table stepward_meta (
    key text not null primary key,
    value any not null
) strict, without rowid;

create table stepward_task (
    uid text not null,
    id text not null,
    workflow text not null,
    version text not null,
    state text not null check (
        state = 'processing' or state = 'processed' or state = 'pending' or state = 'waiting' or
        state = 'suspended' or state = 'undoing' or state = 'undone' or state = 'cancelled' or
        state = 'error'),
    priority integer not null,
    fairness_key text,
    labels blob not null,
    run integer not null check (run >= 1),
    input blob not null,
    output blob,
    error blob,
    locked_by text,
    complete_by real,
    wake_at real,
    waits_for text,
    undo_to text check (undo_to in ('undone', 'cancelled')),
    inbox integer not null check (inbox >= 0),
    failure_count integer not null check (failure_count >= 0),
    recovery_count integer not null check (recovery_count >= 0),
    parent text,
    parent_run integer,
    parent_step text,
    reply_to text,
    created_at real not null,
    started_at real,
    finished_at real,
    constraint task_owned check (locked_by is null or (finished_at is null and state <> 'pending')),
    constraint task_owner check (locked_by is not null or state <> 'processing'),
    constraint task_undo check (undo_to is not null or state not in ('undoing', 'undone')),
    constraint task_finished check
        ((finished_at is not null) = (
        state = 'processed' or state = 'undone' or state = 'cancelled' or state = 'error'))
) strict;

create unique index stepward_task_uid on stepward_task (uid);
create unique index stepward_task_id on stepward_task (id);
-- Tasks that Schedulers claim.
create index stepward_task_claimable on stepward_task (workflow, version, priority desc, uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');
-- Tasks that become claimable at wake_at.
create index stepward_task_waking on stepward_task (wake_at)
    where locked_by is null and wake_at is not null and state in ('pending', 'waiting', 'undoing');
create index stepward_task_held on stepward_task (locked_by) where locked_by is not null;
create index stepward_task_deadline on stepward_task (complete_by)
    where complete_by is not null and finished_at is null and state <> 'undoing';
-- Tasks that operators list by state; tasks in processing are found by their owner.
create index stepward_task_listed on stepward_task (state, uid)
    where state <> 'processing' and state <> 'processed' and state <> 'undone' and state <> 'cancelled';
-- Tasks that retention deletes.
create index stepward_task_finished on stepward_task (finished_at)
    where finished_at is not null and state <> 'error';

create table stepward_step (
    task text not null,
    run integer not null,
    key text not null,
    number integer not null,
    name text not null,
    kind text not null check (
        kind = 'operation' or kind = 'undo' or kind = 'local' or kind = 'transaction' or kind = 'child' or
        kind = 'timer' or kind = 'signal' or kind = 'value'),
    state text not null check (
        state = 'running' or state = 'completed' or state = 'not_started' or state = 'to_repeat' or
        state = 'failed' or state = 'abandoned' or state = 'skipped' or state = 'undone'),
    agent text,
    attempt integer not null check (attempt >= 0),
    failure_count integer not null check (failure_count >= 0),
    complete_by real,
    complete_seconds real,
    started_at real,
    finished_at real,
    repeat_at real,
    ordinal integer,
    input blob not null,
    output blob,
    error blob,
    has_undo integer not null check (has_undo in (0, 1)),
    irreversible integer not null check (irreversible in (0, 1)),
    in_doubt integer not null check (in_doubt in (0, 1)),
    watched integer not null check (watched in (0, 1)),
    generation integer not null check (generation >= 0),
    constraint step_started check (attempt > 0 or state <> 'running')
) strict;

-- With a rowid and this index a turn writes fewer pages than with the key as the table's own order.
create unique index stepward_step_key on stepward_step (task, run, key);
create index stepward_step_watched on stepward_step (complete_by) where watched = 1 and state = 'running';

-- Numbers are never reused: owners read on after the last number that they have seen.
create table stepward_inbox (
    number integer primary key autoincrement,
    task text not null,
    kind text not null check (kind in
        ('signal', 'undo', 'cancel', 'suspend', 'fail', 'step', 'child', 'reply')),
    name text not null,
    body blob not null,
    sender text not null
) strict;

create index stepward_inbox_task on stepward_inbox (task);

create table stepward_signal_seen (
    task text not null,
    name text not null,
    id text not null,
    primary key (task, name, id)
) strict, without rowid;

create table stepward_instance (
    id text not null primary key,
    role text not null check (role in ('scheduler', 'agent', 'supervisor', 'submission')),
    host text not null,
    pid integer not null,
    serves text not null check (json_valid(serves)),
    started_at real not null,
    expires_at real not null,
    alive integer not null check (alive in (0, 1)),
    capacity integer not null,
    renewed_at real not null,
    silent_at real,
    dead_at real,
    constraint instance_dead check ((dead_at is null) = (alive = 1))
) strict, without rowid;

create table stepward_leadership (
    seat integer primary key check (seat = 1),
    instance text not null,
    term integer not null,
    expires_at real not null
) strict;

create table stepward_alert (
    number integer primary key autoincrement,
    at real not null,
    kind text not null,
    task text,
    task_id text,
    step text,
    message text not null,
    details blob not null,
    delivered_at real,
    tries integer not null,
    acknowledged_at real,
    acknowledged_by text,
    next_try real not null,
    constraint alert_acknowledged check ((acknowledged_at is null) = (acknowledged_by is null))
) strict;

create index stepward_alert_open on stepward_alert (number) where acknowledged_at is null;
create index stepward_alert_undelivered on stepward_alert (next_try) where delivered_at is null;

create table stepward_audit (
    number integer primary key autoincrement,
    at real not null,
    actor text not null,
    act text not null,
    task text,
    step text,
    before text,
    after text,
    details blob not null,
    hash blob not null
) strict;

create index stepward_audit_task on stepward_audit (task) where task is not null;

create table stepward_workflow (
    name text not null,
    version text not null,
    schema blob not null,
    policy blob not null,
    complete_seconds real,
    registered_at real not null,
    primary key (name, version)
) strict, without rowid;

create table stepward_message (
    token integer primary key autoincrement,
    queue text not null,
    body blob not null,
    expires_at real,
    taken_until real not null
) strict;

create index stepward_message_queue on stepward_message (queue, taken_until, token);
