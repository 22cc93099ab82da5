-- Batches: a directive for every task that a filter finds, and how far each is.

create table stepward_batch (
    id text not null primary key,
    verb text not null
        check (verb in ('resubmit', 'mark_done', 'undo', 'cancel', 'suspend', 'resume', 'delete')),
    filter text not null,
    workflows text not null check (json_valid(workflows)),
    labels text not null check (json_valid(labels)),
    parameters text not null check (json_valid(parameters)),
    actor text not null,
    reason text,
    state text not null check (state in ('running', 'paused', 'stopped', 'done')),
    rate real not null check (rate > 0),
    as_of real not null,
    matched integer not null,
    is_exact integer not null check (is_exact in (0, 1)),
    done integer not null,
    refused integer not null,
    refusals text not null check (json_valid(refusals)),
    cursor_at real,
    cursor_uid text,
    next_at real not null,
    created_at real not null,
    finished_at real,
    constraint batch_ends check ((finished_at is null) = (state in ('running', 'paused'))),
    constraint batch_cursor check ((cursor_at is null) = (cursor_uid is null))
) strict, without rowid;

create index stepward_batch_listed on stepward_batch (created_at, id);
create index stepward_batch_running on stepward_batch (next_at, id) where state = 'running';
