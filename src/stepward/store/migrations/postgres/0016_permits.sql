-- Permits of tasks under the limit of their workflow, and the tasks that wait for one.

create table {schema}.task_permit (
    task text collate "C" not null primary key,
    name text collate "C" not null,
    key text collate "C" not null,
    held boolean not null,
    priority integer not null
);
create index task_permit_next on {schema}.task_permit (name, key, held, priority desc, task);

-- A task that ends gives its permit to the next task that waits for one, whichever statement ended it. All that give or
-- take permits hold one lock.
create function {schema}.pass_permit() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
    mine {schema}.task_permit;
    cap integer;
    chosen text;
begin
    select * into mine from {schema}.task_permit where task = new.uid;
    if not found then
        return null;
    end if;
    perform pg_advisory_xact_lock('{schema}.task_permit'::regclass::oid::bigint);
    delete from {schema}.task_permit where task = new.uid;
    select case when l.set_at is null then l.declared_concurrency else l.concurrency end into cap
    from {schema}.flow_limit as l where l.name = mine.name;
    if not mine.held or cap is null or cap <= (
        select count(*) from {schema}.task_permit as h where h.name = mine.name and h.key = mine.key and h.held)
    then
        return null;
    end if;
    select t.uid into chosen
    from {schema}.task_permit as w join {schema}.task as t on t.uid = w.task
    where w.name = mine.name and w.key = mine.key and not w.held
        and t.state = 'waiting' and t.waits_for = 'limit' and t.wake_at is null and t.locked_by is null
    order by w.priority desc, w.task limit 1 for update of t skip locked;
    if found then
        update {schema}.task_permit set held = true where task = chosen;
        update {schema}.task set wake_at = new.finished_at where uid = chosen;
    end if;
    return null;
end $$;

create trigger task_ended after update of finished_at on {schema}.task for each row
    when (old.finished_at is null and new.finished_at is not null) execute function {schema}.pass_permit();
