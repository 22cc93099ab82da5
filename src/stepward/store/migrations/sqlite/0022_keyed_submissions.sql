-- Submissions under a rule for their key.

create table stepward_submission_key (
    workflow text not null,
    rule text not null,
    key text not null,
    task text not null,
    predecessor text,
    since real not null,
    until real,
    primary key (workflow, rule, key)
) strict, without rowid;
create index stepward_submission_key_task on stepward_submission_key (task);
create index stepward_submission_key_until on stepward_submission_key (until) where until is not null;

create table stepward_joined_submission (
    id text not null primary key,
    task text not null
) strict, without rowid;
create index stepward_joined_submission_task on stepward_joined_submission (task);

-- A task that ends wakes the one that replaces it.
alter table stepward_task_permit add column next_task text;

drop trigger stepward_task_ended;
create trigger stepward_task_ended after update of finished_at on stepward_task
when old.finished_at is null and new.finished_at is not null
    and exists (select 1 from stepward_task_permit where task = new.uid)
begin
    update stepward_task set wake_at = new.finished_at
    where uid = (
        select t.uid
        from stepward_task_permit as p
        cross join stepward_flow_limit as l on l.name = p.name
        cross join stepward_task_permit as w on w.name = p.name and w.key = p.key and w.held = 0
        cross join stepward_task as t on t.uid = w.task
        where p.task = new.uid and p.held = 1
            and case when l.set_at is null then l.declared_starts else l.starts end is null
            and t.state = 'waiting' and t.waits_for = 'limit' and t.wake_at is null and t.locked_by is null
            and (select count(*) from stepward_task_permit as h where h.name = p.name and h.key = p.key and h.held = 1)
                <= case when l.set_at is null then l.declared_concurrency else l.concurrency end
        order by w.priority desc, w.task limit 1);
    update stepward_task_permit set held = 1
    where task = (
        select t.uid
        from stepward_task_permit as p
        cross join stepward_flow_limit as l on l.name = p.name
        cross join stepward_task_permit as w on w.name = p.name and w.key = p.key and w.held = 0
        cross join stepward_task as t on t.uid = w.task
        where p.task = new.uid and p.held = 1
            and case when l.set_at is null then l.declared_starts else l.starts end is null
            and t.state = 'waiting' and t.waits_for = 'limit' and t.wake_at = new.finished_at and t.locked_by is null
            and (select count(*) from stepward_task_permit as h where h.name = p.name and h.key = p.key and h.held = 1)
                <= case when l.set_at is null then l.declared_concurrency else l.concurrency end
        order by w.priority desc, w.task limit 1);
    insert into stepward_rate_bucket (name, key, full_at, due_at)
    select p.name, p.key, new.finished_at, new.finished_at
    from stepward_task_permit as p
    cross join stepward_flow_limit as l on l.name = p.name
    where p.task = new.uid and p.held = 1
        and case when l.set_at is null then l.declared_starts else l.starts end is not null
        and (select count(*) from stepward_task_permit as h where h.name = p.name and h.key = p.key and h.held = 1)
            <= case when l.set_at is null then l.declared_concurrency else l.concurrency end
        and exists (
            select 1 from stepward_task_permit as w where w.name = p.name and w.key = p.key and w.held = 0)
    on conflict (name, key) do update set due_at = coalesce(min(due_at, excluded.due_at), excluded.due_at);
    update stepward_task set wake_at = new.finished_at
    where uid = (select next_task from stepward_task_permit where task = new.uid)
        and state = 'waiting' and waits_for = 'predecessor' and wake_at is null and locked_by is null;
    delete from stepward_task_permit where task = new.uid;
end;
