-- Buckets of the rates of workflows: of a workflow, or of a workflow and a key. A bucket without a row is full.

create table {schema}.rate_bucket (
    name text collate "C" not null,
    key text collate "C" not null,
    full_at float8 not null,
    due_at float8,
    primary key (name, key)
);
create index rate_bucket_due on {schema}.rate_bucket (due_at) where due_at is not null;
create index rate_bucket_full on {schema}.rate_bucket (full_at) where due_at is null;

-- As before; under a limit with a rate the next claim chooses instead who follows, since a start takes a token as well.
create or replace function {schema}.pass_permit() returns trigger
language plpgsql security definer set search_path = pg_catalog as $$
declare
    mine {schema}.task_permit;
    cap integer;
    rated boolean;
    chosen text;
begin
    select * into mine from {schema}.task_permit where task = new.uid;
    if not found then
        return null;
    end if;
    perform pg_advisory_xact_lock('{schema}.task_permit'::regclass::oid::bigint);
    delete from {schema}.task_permit where task = new.uid;
    select case when l.set_at is null then l.declared_concurrency else l.concurrency end,
        case when l.set_at is null then l.declared_starts else l.starts end is not null
    into cap, rated
    from {schema}.flow_limit as l where l.name = mine.name;
    if not mine.held or cap is null or cap <= (
        select count(*) from {schema}.task_permit as h where h.name = mine.name and h.key = mine.key and h.held)
    then
        return null;
    end if;
    if rated then
        insert into {schema}.rate_bucket as b (name, key, full_at, due_at)
        select mine.name, mine.key, new.finished_at, new.finished_at
        where exists (
            select 1 from {schema}.task_permit as w where w.name = mine.name and w.key = mine.key and not w.held)
        on conflict (name, key) do update set due_at = least(b.due_at, excluded.due_at);
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
