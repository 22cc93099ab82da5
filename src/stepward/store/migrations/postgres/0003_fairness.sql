-- Tasks of one priority are claimed in turns between their fairness keys.

-- beside
-- Tasks that Schedulers claim: the query seeks from key to key, and goes by age within a key; no key counts as a key.
create index concurrently task_claimable_in_turn
    on {schema}.task (workflow, version, priority desc, (coalesce(fairness_key, '') collate "C"), uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');

-- transaction
drop index {schema}.task_claimable;
alter index {schema}.task_claimable_in_turn rename to task_claimable;

-- The fairness key of the tasks of a schedule.
alter table {schema}.schedule add column fairness_key text;
