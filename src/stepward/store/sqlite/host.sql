-- name: register_workflow
-- What a program knows of a workflow; the latest registration stands.
insert into stepward_workflow ({workflow}, registered_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (name, version) do update set
    schema = excluded.schema, policy = excluded.policy, complete_seconds = excluded.complete_seconds,
    plan = excluded.plan, registered_at = excluded.registered_at

-- name: identity
-- What tells the store from others, and the key of its requests.
select (select value from stepward_meta where key = 'store_id'),
    (select value from stepward_meta where key = 'request_key')

-- name: keep_identity
-- The first one stays for good.
insert into stepward_meta values ('store_id', ?1), ('request_key', ?2) on conflict (key) do nothing

-- name: count_hang
-- Code of a live task held up an event loop; one that ended has no owner to fear for.
update stepward_task set hangs = hangs + 1 where uid = ?1 and state not in {ends} returning hangs

-- name: end_warning
-- Open alerts of a kind with these details, acknowledged: their numbers.
update stepward_alert set acknowledged_at = ?3, acknowledged_by = ?4
where acknowledged_at is null and kind = ?1 and details = ?2 returning number
