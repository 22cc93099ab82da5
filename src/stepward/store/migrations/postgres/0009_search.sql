-- Search: typed attributes of tasks, and a row for each attribute and label, which triggers write: tasks that a program
-- of the previous version submits are found as well.

alter table {schema}.task add column attributes bytea not null default '{}';

create table {schema}.search (
    task text collate "C" not null,
    name text collate "C" not null,
    kind text collate "C" not null check (kind in ('text', 'number', 'boolean', 'time')),
    text text collate "C",
    number float8,
    created_at float8 not null,
    primary key (task, name),
    constraint search_value check ((kind = 'text') = (text is not null) and (text is null) = (number is not null))
);

create index search_text on {schema}.search (name, text, created_at, task) where text is not null;
create index search_number on {schema}.search (name, kind, number, created_at, task) where number is not null;

-- The type of the error of a task; null if the error cannot be read. PostgreSQL reads no NUL.
create function {schema}.error_type(error bytea) returns text language plpgsql immutable parallel safe as $$
begin
    return case json_typeof(convert_from(error, 'UTF8')::json -> 'type')
        when 'string' then convert_from(error, 'UTF8')::json ->> 'type' end;
exception when data_exception or feature_not_supported then
    return null;
end $$;

-- The labels and attributes by which a task is found; none where they cannot be read.
create function {schema}.searched(labels bytea, attributes bytea)
returns table (name text, kind text, text text, number float8) language plpgsql stable parallel safe as $$
begin
    return query
    select 'label.' || l.key, 'text', l.value #>> array[]::text[], null::float8
    from json_each(convert_from(labels, 'UTF8')::json) as l where json_typeof(l.value) = 'string'
    union all
    select 'attr.' || a.key,
        case json_typeof(a.value) when 'string' then 'text' when 'object' then 'time' else json_typeof(a.value) end,
        case json_typeof(a.value) when 'string' then a.value #>> array[]::text[] end,
        case json_typeof(a.value) when 'number' then (a.value #>> array[]::text[])::float8
            when 'boolean' then (a.value #>> array[]::text[])::boolean::integer::float8
            when 'object' then (a.value ->> 'time')::float8 end
    from json_each(convert_from(attributes, 'UTF8')::json) as a
    where json_typeof(a.value) in ('string', 'number', 'boolean', 'object');
exception when data_exception or feature_not_supported then
    return;
end $$;

-- Runs with the owner's rights, so that no other user needs to write into the table.
create function {schema}.find_task() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
    if tg_op <> 'INSERT' then
        delete from {schema}.search where task = old.uid;
    end if;
    if tg_op <> 'DELETE' then
        insert into {schema}.search (task, name, kind, text, number, created_at)
        select new.uid, s.name, s.kind, s.text, s.number, new.created_at
        from {schema}.searched(new.labels, new.attributes) as s on conflict do nothing;
    end if;
    return null;
end $$;

create trigger task_begun after insert on {schema}.task for each row
    when (new.labels <> '{}'::bytea or new.attributes <> '{}'::bytea) execute function {schema}.find_task();
create trigger task_attributes after update of attributes on {schema}.task for each row
    when (new.attributes <> old.attributes) execute function {schema}.find_task();
create trigger task_deleted after delete on {schema}.task for each row
    when (old.labels <> '{}'::bytea or old.attributes <> '{}'::bytea) execute function {schema}.find_task();

-- transaction
insert into {schema}.search (task, name, kind, text, number, created_at)
select t.uid, s.name, s.kind, s.text, s.number, t.created_at
from {schema}.task as t cross join lateral {schema}.searched(t.labels, t.attributes) as s
where t.labels <> '{}'::bytea on conflict do nothing;

-- beside
create index concurrently task_by_created on {schema}.task (created_at, uid);
create index concurrently task_by_workflow on {schema}.task (workflow, created_at, uid);
create index concurrently task_listed_by_created on {schema}.task (state, created_at, uid)
    where state not in ('processing', 'processed', 'undone', 'cancelled');
create index concurrently task_by_end on {schema}.task (state, created_at, uid)
    where finished_at is not null and state <> 'error';
create index concurrently task_by_error on {schema}.task ({schema}.error_type(error), created_at, uid)
    where error is not null;

-- transaction
drop index {schema}.task_listed;
alter index {schema}.task_listed_by_created rename to task_listed;
