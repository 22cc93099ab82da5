-- What long steps tell of their progress, and steps that are finished from outside.

-- What the code at work told last, and when.
alter table {schema}.step add column progress bytea;
alter table {schema}.step add column progress_at float8;

-- Since when the Agent has done its part in the present attempt: whoever holds the token finishes the step.
alter table {schema}.step add column deferred_at float8;
