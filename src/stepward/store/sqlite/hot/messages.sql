-- name: put
-- A message at the end of its queue.
insert into stepward_message (queue, body, expires_at, taken_until) values (?3, ?1, ?2, 0.0)

-- name: returned
-- The first message whose taker let its lease run out; it comes alone, for it may be what ended that one.
select token, body, expires_at, tries from stepward_message
where queue = ?1 and taken_until > 0.0 and taken_until <= ?2 order by taken_until, token limit 1

-- name: fresh
-- Messages that nobody has taken yet, in order.
select token, body, expires_at, tries from stepward_message
where queue = ?1 and taken_until = 0.0 order by token limit ?2

-- name: hold
-- Taken until its lease ends.
update stepward_message set taken_until = ?2, tries = tries + 1 where token = ?1

-- name: extend
-- Taken for longer.
update stepward_message set taken_until = ?3 where token = ?1 and queue = ?2

-- name: are_there
-- Those of the tokens (a JSON array) that were not withdrawn meanwhile.
select m.token from json_each(?1) as wanted cross join stepward_message as m on m.token = wanted.value
where m.queue = ?2

-- name: withdraw
-- The requests that begin so and name that step, found by what is asked for the task; none where several were taken,
-- for then the word of one taker that it has stopped says nothing of the others.
with wanted as materialized (
    select token, tries from stepward_message
    where substr(body, 1, 26) = x'7b2274797065223a2272657175657374222c227461736b223a22'
        and substr(body, 1, 63) >= ?2 and substr(body, 1, 63) < ?3 and +queue = ?1
        and instr(body, ?4) = 1 and instr(body, ?5) > 0)
delete from stepward_message
where token in (select token from wanted) and (select count(*) from wanted where tries > 0) <= 1
returning token, body, tries

-- name: delete
-- Dealt with, or expired.
delete from stepward_message where token = ?1 and queue = ?2

-- name: read
-- What stands in a queue that has one reader, after what it was given.
select token, body from stepward_message
where queue = ?1 and taken_until = 0.0 and token > ?2 and (expires_at is null or expires_at > ?4)
order by token limit ?3

-- name: bury
-- A message that nobody can use goes to the dead letters.
insert into stepward_dead_letter (queue, body, reason, tries, buried_at)
select queue, body, ?2, tries, ?4 from stepward_message where token = ?1 and queue = ?3

-- name: bury_body
-- What came over a broker and nobody can use is a dead letter.
insert into stepward_dead_letter (queue, body, reason, tries, buried_at) values (?4, ?1, ?2, ?3, ?5)

-- name: filled
-- Those of the queues in which something is not taken, or not any more.
select value from json_each(?1)
where exists (select 1 from stepward_message where queue = value and taken_until <= ?2)

-- name: standing
-- Queues between two names in which something stands, found by leaps along the index.
with recursive queues (queue) as (
    select min(queue) from stepward_message where queue >= ?1 and queue < ?2
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue and m.queue < ?2)
    from queues as q where q.queue is not null)
select queue from queues where queue is not null limit ?3

-- name: open_alert
-- The alert of dead letters in that queue that waits for an operator.
select number, details from stepward_alert
where acknowledged_at is null and kind = 'dead_letter' and json_extract(cast(details as text), '$.queue') = ?1
order by number limit 1

-- name: letters_of
-- How many dead letters a queue has, and their bytes.
select count(*), coalesce(sum(length(body)), 0) from stepward_dead_letter where queue = ?1

-- name: forget_letters
-- Dead letters that no operator has wanted for long, the oldest first.
delete from stepward_dead_letter where number in (
    select number from stepward_dead_letter where buried_at < ?1 order by number limit ?2)

-- name: dead_letters
-- What operators look at, newest first.
select {dead_letter} from stepward_dead_letter order by number desc limit ?1

-- name: take_letters
-- Letters (a JSON array of their numbers) are no dead letters any more.
delete from stepward_dead_letter where number in (select value from json_each(?1)) returning number, queue, body

-- name: adopt
-- What stands in one queue stands in another, free to be taken.
update stepward_message set queue = ?2, taken_until = 0.0 where queue = ?1

-- name: forget_expired
-- Expired messages among the oldest of each queue, found by leaps along the index.
with recursive queues (queue) as (
    select min(queue) from stepward_message
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue)
    from queues as q where q.queue is not null)
delete from stepward_message
where expires_at <= ?1 and token in (
    select oldest.value from queues as q cross join json_each((
        select json_group_array(token) from (
            select token from stepward_message where queue = q.queue order by taken_until, token limit ?2)
        )) as oldest)
