-- name: record
-- A planned step; one that is there already is left alone.
insert into stepward_step ({step}) values ({step_places}) on conflict do nothing

-- name: skip
-- What a task never began will not begin any more.
update stepward_step set state = 'skipped', finished_at = ?2 where task = ?1 and state = 'not_started'
