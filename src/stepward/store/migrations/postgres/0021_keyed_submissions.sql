-- Submissions under a rule for their key.

create table {schema}.submission_key (
    workflow text collate "C" not null,
    rule text collate "C" not null,
    key text collate "C" not null,
    task text collate "C" not null,
    predecessor text collate "C",
    since float8 not null,
    until float8,
    primary key (workflow, rule, key)
);
create index submission_key_task on {schema}.submission_key (task);
create index submission_key_until on {schema}.submission_key (until) where until is not null;

create table {schema}.joined_submission (
    id text collate "C" not null primary key,
    task text collate "C" not null
);
create index joined_submission_task on {schema}.joined_submission (task);

-- A task that ends wakes the one that replaces it.
alter table {schema}.task_permit add column next_task text collate "C";

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
    if mine.next_task is not null then
        update {schema}.task set wake_at = new.finished_at
        where uid = mine.next_task and state = 'waiting' and waits_for = 'predecessor' and wake_at is null
            and locked_by is null;
    end if;
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
