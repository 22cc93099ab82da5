-- Tasks of one priority are claimed in turns between their fairness keys.

-- Tasks that Schedulers claim: the query seeks from key to key, and goes by age within a key; no key counts as a key.
drop index stepward_task_claimable;
create index stepward_task_claimable
    on stepward_task (workflow, version, priority desc, coalesce(fairness_key, ''), uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');

-- The fairness key of the tasks of a schedule.
alter table stepward_schedule add column fairness_key text;
