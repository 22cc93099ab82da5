-- Indexes of listings: by state, workflow or type of error, each in the order of creation.

create index stepward_task_by_created on stepward_task (created_at, uid);
create index stepward_task_by_workflow on stepward_task (workflow, created_at, uid);
-- Under the name that programs of the previous version use.
drop index stepward_task_listed;
create index stepward_task_listed on stepward_task (state, created_at, uid)
    where state <> 'processing' and state <> 'processed' and state <> 'undone' and state <> 'cancelled';
create index stepward_task_by_end on stepward_task (state, created_at, uid)
    where finished_at is not null and state <> 'error';
create index stepward_task_by_error on stepward_task (
    case when not json_valid(cast(error as text)) then null
        when json_type(cast(error as text), '$.type') = 'text' then json_extract(cast(error as text), '$.type') end,
    created_at, uid)
    where error is not null;
