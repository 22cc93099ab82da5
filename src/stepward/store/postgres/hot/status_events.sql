-- name: next
-- Counts one more status event of a task, and returns its sequence number.
update {schema}.task set events = events + 1 where uid = $1 returning events

-- name: next_of
-- Counts one more status event of each of the tasks, and returns their sequence numbers.
update {schema}.task set events = events + 1 where uid = any($1::text[]) returning uid, events

-- name: put
-- Appends status events to their queues.
insert into {schema}.message (queue, body, expires_at)
select v.queue, v.body, $3 from unnest($1::text[], $2::bytea[]) with ordinality as v (queue, body, place) order by v.place
