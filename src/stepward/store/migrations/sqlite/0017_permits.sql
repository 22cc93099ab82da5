-- Permits of tasks under the limit of their workflow, and the tasks that wait for one.

create table stepward_task_permit (
    task text not null primary key,
    name text not null,
    key text not null,
    held integer not null check (held in (0, 1)),
    priority integer not null
) strict, without rowid;
create index stepward_task_permit_next on stepward_task_permit (name, key, held, priority desc, task);

-- A task that ends gives its permit to the next task that waits for one, whichever statement ended it.
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
            and t.state = 'waiting' and t.waits_for = 'limit' and t.wake_at = new.finished_at and t.locked_by is null
            and (select count(*) from stepward_task_permit as h where h.name = p.name and h.key = p.key and h.held = 1)
                <= case when l.set_at is null then l.declared_concurrency else l.concurrency end
        order by w.priority desc, w.task limit 1);
    delete from stepward_task_permit where task = new.uid;
end;
