-- name: put
-- Appends a message to a queue.
insert into stepward_message (queue, body, expires_at, taken_until) values (?3, ?1, ?2, 0.0)

-- name: returned
-- Returns the first message whose consumer let its lease run out; it comes alone, because it may have ended that
-- consumer.
select token, body, expires_at, tries from stepward_message
where queue = ?1 and taken_until > 0.0 and taken_until <= ?2 order by taken_until, token limit 1

-- name: fresh
-- Returns messages that were not taken yet, in order.
select token, body, expires_at, tries from stepward_message
where queue = ?1 and taken_until = 0.0 order by token limit ?2

-- name: hold
-- Takes a message until its lease ends.
update stepward_message set taken_until = ?2, tries = tries + 1 where token = ?1

-- name: extend
-- Extends the lease of a message.
update stepward_message set taken_until = ?3 where token = ?1 and queue = ?2

-- name: are_there
-- Returns those of the tokens (a JSON array) that were not withdrawn meanwhile.
select m.token from json_each(?1) as wanted cross join stepward_message as m on m.token = wanted.value
where m.queue = ?2

-- name: withdraw
-- Deletes the requests that have this beginning and name that step, found by their task. Deletes none where several
-- were taken, because a consumer that has stopped one says nothing of the others.
with wanted as materialized (
    select token, tries from stepward_message
    where substr(body, 1, 26) = x'7b2274797065223a2272657175657374222c227461736b223a22'
        and substr(body, 1, 63) >= ?2 and substr(body, 1, 63) < ?3 and +queue = ?1
        and instr(body, ?4) = 1 and instr(body, ?5) > 0)
delete from stepward_message
where token in (select token from wanted) and (select count(*) from wanted where tries > 0) <= 1
returning token, body, tries

-- name: delete
-- Deletes messages that were processed or have expired.
delete from stepward_message where token = ?1 and queue = ?2

-- name: read
-- Returns the messages after a token in a queue that has one reader.
select token, body from stepward_message
where queue = ?1 and taken_until = 0.0 and token > ?2 and (expires_at is null or expires_at > ?4)
order by token limit ?3

-- name: bury
-- Copies a message that cannot be processed to the dead letters.
insert into stepward_dead_letter (queue, body, reason, tries, buried_at)
select queue, body, ?2, tries, ?4 from stepward_message where token = ?1 and queue = ?3

-- name: bury_body
-- Inserts a message of a broker that cannot be processed into the dead letters.
insert into stepward_dead_letter (queue, body, reason, tries, buried_at) values (?4, ?1, ?2, ?3, ?5)

-- name: filled
-- Returns those of the queues that have a message which is not taken, or whose lease has ended.
select value from json_each(?1)
where exists (select 1 from stepward_message where queue = value and taken_until <= ?2)

-- name: nonempty
-- Returns the queues between two names that have messages, by seeking along the index.
with recursive queues (queue) as (
    select min(queue) from stepward_message where queue >= ?1 and queue < ?2
    union all
    select (select min(m.queue) from stepward_message as m where m.queue > q.queue and m.queue < ?2)
    from queues as q where q.queue is not null)
select queue from queues where queue is not null limit ?3

-- name: open_alert
-- Returns the open alert on dead letters of that queue.
select number, details from stepward_alert
where acknowledged_at is null and kind = 'dead_letter' and json_extract(cast(details as text), '$.queue') = ?1
order by number limit 1

-- name: letters_of
-- Returns how many dead letters a queue has, and their bytes.
select count(*), coalesce(sum(length(body)), 0) from stepward_dead_letter where queue = ?1

-- name: forget_letters
-- Deletes dead letters that are older than an instant, the oldest first.
delete from stepward_dead_letter where number in (
    select number from stepward_dead_letter where buried_at < ?1 order by number limit ?2)

-- name: dead_letters
-- Returns dead letters, newest first.
select {dead_letter} from stepward_dead_letter order by number desc limit ?1

-- name: take_letters
-- Deletes dead letters (a JSON array of numbers) and returns their messages.
delete from stepward_dead_letter where number in (select value from json_each(?1)) returning number, queue, body

-- name: adopt
-- Moves the messages of one queue to another, not taken.
update stepward_message set queue = ?2, taken_until = 0.0 where queue = ?1

-- name: forget_expired
-- Deletes expired messages among the oldest of each queue, by seeking along the index.
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
