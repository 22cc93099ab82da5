-- name: finished
-- Tasks that ended well before an instant, oldest first, past those that somebody is moving at this moment; a child is
-- kept while undo of its parent may need it.
select uid from {schema}.task as t
where finished_at is not null and state <> 'error' and finished_at < $1
    and coalesce((select p.finished_at is not null and p.state <> 'error' from {schema}.task as p
        where p.uid = t.parent), true)
order by finished_at limit $2 for update skip locked

-- name: purge_tasks
-- The tasks themselves.
delete from {schema}.task where uid = any($1::text[])

-- name: purge_steps
-- Their steps.
delete from {schema}.step where task = any($1::text[])

-- name: purge_inbox
-- Their inbox rows.
delete from {schema}.inbox where task = any($1::text[])

-- name: purge_signals
-- The ids of their signals.
delete from {schema}.signal_seen where task = any($1::text[])
