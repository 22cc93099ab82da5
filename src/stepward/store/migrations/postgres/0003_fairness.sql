-- Tasks of one priority are claimed by their fairness keys in turn.

-- What Schedulers claim: by leaps from key to key, and by age within each; no key is a key of its own.
drop index {schema}.task_claimable;
create index task_claimable
    on {schema}.task (workflow, version, priority desc, (coalesce(fairness_key, '') collate "C"), uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');

-- What the tasks of a recurring one are kept fair by.
alter table {schema}.schedule add column fairness_key text;
