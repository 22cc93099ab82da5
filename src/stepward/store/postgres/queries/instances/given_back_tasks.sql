-- name: lock
-- Locks the tasks of the instance until the transaction ends, after the transactions that insert inbox rows for them.
select uid from {schema}.task where locked_by = $1 order by uid for update

-- name: release
-- Releases the tasks of the instance without counting a failure; waiting tasks stay waiting. The tasks are locked
-- before this statement, so it sees inbox rows that were inserted meanwhile; a statement that waited for the lock would
-- not.
update {schema}.task as t
set locked_by = null, complete_by = case when t.state = 'waiting' then t.complete_by end,
    wake_at = case when t.state <> 'waiting' then null
        when (select i.number from {schema}.inbox as i where i.task = t.uid limit 1) is not null then $2 else t.wake_at end,
    waits_for = case when t.state = 'waiting' then t.waits_for end,
    state = case when t.state in ('undoing', 'suspended', 'waiting') then t.state else 'pending' end
where t.locked_by = $1
