-- Tasks of one priority are claimed by their fairness keys in turn.

-- beside
-- What Schedulers claim: by leaps from key to key, and by age within each; no key is a key of its own.
create index concurrently task_claimable_in_turn
    on {schema}.task (workflow, version, priority desc, (coalesce(fairness_key, '') collate "C"), uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');

-- transaction
drop index {schema}.task_claimable;
alter index {schema}.task_claimable_in_turn rename to task_claimable;

-- What the tasks of a recurring one are kept fair by.
alter table {schema}.schedule add column fairness_key text;
