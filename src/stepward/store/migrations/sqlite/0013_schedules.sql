-- Schedules that are created at run time, and what happens where tasks would overlap.

alter table stepward_schedule add column overlap text not null default 'allow'
    check (overlap in ('allow', 'skip', 'buffer_one', 'buffer', 'cancel'));
alter table stepward_schedule add column jitter real not null default 0 check (jitter >= 0);
alter table stepward_schedule add column starts_at real;
alter table stepward_schedule add column ends_at real;
alter table stepward_schedule add column created_by text;
alter table stepward_schedule add column last_task text;
