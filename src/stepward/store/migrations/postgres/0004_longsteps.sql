-- Progress of long steps, and steps that are finished from outside.

-- The latest progress of the running attempt, and its instant.
alter table {schema}.step add column progress bytea;
alter table {schema}.step add column progress_at float8;

-- The instant at which the Agent deferred the present attempt: a holder of the completion token finishes the step.
alter table {schema}.step add column deferred_at float8;
