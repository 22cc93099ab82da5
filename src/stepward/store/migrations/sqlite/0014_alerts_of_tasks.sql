-- Alerts by their task, for the deletion of tasks on demand.

create index stepward_alert_task on stepward_alert (task) where task is not null;
