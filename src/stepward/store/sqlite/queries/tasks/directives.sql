-- name: steps
-- Returns every step of a task.
select {step} from stepward_step where task = ?1 order by run, number, set_aside_at

-- name: delete_step
-- Deletes a step row that a repair replaces.
delete from stepward_step where task = ?1 and run = ?2 and key = ?3

-- name: drop_child_end
-- Deletes the end of a child task from its parent's inbox.
delete from stepward_inbox where task = ?1 and kind = 'child' and name = ?2

-- name: set_deadline
-- Sets the deadline of the whole task.
update stepward_task set deadline = ?2 where uid = ?1

-- name: set_priority
-- Sets the priority of the task.
update stepward_task set priority = ?2 where uid = ?1
