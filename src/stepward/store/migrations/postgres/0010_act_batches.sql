-- Batches: a directive for every task that a filter finds, and how far each is.

create table {schema}.batch (
    id text collate "C" not null primary key,
    verb text collate "C" not null
        check (verb in ('resubmit', 'mark_done', 'undo', 'cancel', 'suspend', 'resume', 'delete')),
    filter text not null,
    workflows text not null,
    labels text not null,
    parameters text not null,
    actor text not null,
    reason text,
    state text collate "C" not null check (state in ('running', 'paused', 'stopped', 'done')),
    rate float8 not null check (rate > 0),
    as_of float8 not null,
    matched bigint not null,
    is_exact boolean not null,
    done bigint not null,
    refused bigint not null,
    refusals text not null,
    cursor_at float8,
    cursor_uid text collate "C",
    next_at float8 not null,
    created_at float8 not null,
    finished_at float8,
    constraint batch_ends check ((finished_at is null) = (state in ('running', 'paused'))),
    constraint batch_cursor check ((cursor_at is null) = (cursor_uid is null))
);

create index batch_listed on {schema}.batch (created_at, id);
create index batch_running on {schema}.batch (next_at, id) where state = 'running';
