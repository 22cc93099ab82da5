-- name: finished
-- Tasks that ended well before an instant, oldest first; a child is kept while undo of its parent may need it.
select uid from stepward_task as t
where finished_at is not null and state <> 'error' and finished_at < ?1
    and (parent is null or not exists (
        select 1 from stepward_task as p where p.uid = t.parent and (p.finished_at is null or p.state = 'error')))
order by finished_at limit ?2

-- name: purge_tasks
-- The tasks of a JSON array of uids.
delete from stepward_task where uid in (select value from json_each(?1))

-- name: purge_steps
-- Their steps.
delete from stepward_step where task in (select value from json_each(?1))

-- name: purge_inbox
-- Their inbox rows.
delete from stepward_inbox where task in (select value from json_each(?1))

-- name: purge_signals
-- The ids of their signals.
delete from stepward_signal_seen where task in (select value from json_each(?1))
