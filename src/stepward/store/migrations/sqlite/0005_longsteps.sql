-- What long steps tell of their progress, and steps that are finished from outside.

-- What the code at work told last, and when.
alter table stepward_step add column progress blob;
alter table stepward_step add column progress_at real;

-- Since when the Agent has done its part in the present attempt: whoever holds the token finishes the step.
alter table stepward_step add column deferred_at real;
