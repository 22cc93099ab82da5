-- Alerts by their task, for the deletion of tasks on demand.

-- beside
create index concurrently alert_task on {schema}.alert (task) where task is not null;
