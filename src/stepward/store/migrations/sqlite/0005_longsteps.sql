-- Progress of long steps, and steps that are finished from outside.

-- The latest progress of the running attempt, and its instant.
alter table stepward_step add column progress blob;
alter table stepward_step add column progress_at real;

-- The instant at which the Agent deferred the present attempt: a holder of the completion token finishes the step.
alter table stepward_step add column deferred_at real;
