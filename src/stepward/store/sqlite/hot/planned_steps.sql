-- name: record
-- A planned step; one that is there already is left alone.
insert into stepward_step ({step}) values ({step_places}) on conflict do nothing
