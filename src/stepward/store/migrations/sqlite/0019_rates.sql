-- Buckets of the rates of workflows: of a workflow, or of a workflow and a key. A bucket without a row is full.

create table stepward_rate_bucket (
    name text not null,
    key text not null,
    full_at real not null,
    due_at real,
    primary key (name, key)
) strict, without rowid;
create index stepward_rate_bucket_due on stepward_rate_bucket (due_at) where due_at is not null;
create index stepward_rate_bucket_full on stepward_rate_bucket (full_at) where due_at is null;

-- As before; under a limit with a rate the next claim chooses instead who follows, since a start takes a token as well.
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
    delete from stepward_task_permit where task = new.uid;
end;
