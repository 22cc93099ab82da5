-- Schedules that are created at run time, and what happens where tasks would overlap.

alter table {schema}.schedule
    add column overlap text collate "C" not null default 'allow'
        check (overlap in ('allow', 'skip', 'buffer_one', 'buffer', 'cancel')),
    add column jitter float8 not null default 0 check (jitter >= 0),
    add column starts_at float8,
    add column ends_at float8,
    add column created_by text,
    add column last_task text collate "C";
