-- Search: typed attributes of tasks, and a row for each attribute and label, which triggers write: tasks that a program
-- of the previous version submits are found as well.

alter table stepward_task add column attributes blob not null default x'7b7d';

create table stepward_search (
    task text not null,
    name text not null,
    kind text not null check (kind in ('text', 'number', 'boolean', 'time')),
    text text,
    number real,
    created_at real not null,
    primary key (task, name),
    constraint search_value check ((kind = 'text') = (text is not null) and (text is null) = (number is not null))
) strict, without rowid;

create index stepward_search_text on stepward_search (name, text, created_at, task) where text is not null;
create index stepward_search_number on stepward_search (name, kind, number, created_at, task)
    where number is not null;

create view stepward_searched as
select t.uid as task, t.created_at, 'label.' || each.key as name, 'text' as kind, each.value as text, null as number
from stepward_task as t
    join json_each(case when json_valid(cast(t.labels as text)) then cast(t.labels as text) else '{}' end) as each
where t.labels <> x'7b7d' and each.type = 'text'
union all
select t.uid, t.created_at, 'attr.' || each.key,
    case each.type when 'text' then 'text' when 'true' then 'boolean' when 'false' then 'boolean'
        when 'object' then 'time' else 'number' end,
    case each.type when 'text' then each.value end,
    case each.type when 'text' then null when 'object' then json_extract(each.value, '$.time')
        else cast(each.value as real) end
from stepward_task as t
    join json_each(case when json_valid(cast(t.attributes as text)) then cast(t.attributes as text) else '{}' end)
        as each
where t.attributes <> x'7b7d' and each.type not in ('null', 'array');

create trigger stepward_task_begun after insert on stepward_task
when new.labels <> x'7b7d' or new.attributes <> x'7b7d'
begin
    insert or ignore into stepward_search (task, name, kind, text, number, created_at)
    select task, name, kind, text, number, created_at from stepward_searched where task = new.uid;
end;

create trigger stepward_task_attributes after update of attributes on stepward_task
when new.attributes <> old.attributes
begin
    delete from stepward_search where task = new.uid and name >= 'attr.' and name < 'attr/';
    insert or ignore into stepward_search (task, name, kind, text, number, created_at)
    select task, name, kind, text, number, created_at from stepward_searched where task = new.uid;
end;

create trigger stepward_task_deleted after delete on stepward_task
when old.labels <> x'7b7d' or old.attributes <> x'7b7d'
begin
    delete from stepward_search where task = old.uid;
end;

insert or ignore into stepward_search (task, name, kind, text, number, created_at)
select task, name, kind, text, number, created_at from stepward_searched;
