-- name: put
-- Appends messages to a queue.
insert into {schema}.message (queue, body, expires_at)
select $3, v.body, v.expires_at
from unnest($1::bytea[], $2::float8[]) with ordinality as v (body, expires_at, place) order by v.place

-- name: take
-- Takes messages of a queue; rows that other transactions have locked are skipped. A message whose consumer let its
-- lease run out comes first and alone, because it may have ended that consumer; otherwise the messages that were not
-- taken yet. Expired messages are deleted and returned with tries null. The range of a single value makes the planner
-- use the index of queues for the order. No message is below the watermark ($5, $6).
with returned as materialized (
    select token, taken_until from {schema}.message
    where queue = $1 and taken_until > $6 and taken_until <= $2
    order by taken_until, token limit 1 for update skip locked),
fresh as materialized (
    select token, taken_until from {schema}.message
    where queue = $1 and (taken_until, token) > (0.0, $5) and taken_until <= 0.0
    order by taken_until, token limit case when exists (select 1 from returned) then 0 else $3 end for update skip locked),
standing as (select * from returned union all select * from fresh),
gone as (
    delete from {schema}.message as m using standing as s
    where m.token = s.token and m.expires_at <= $2
    returning m.token, m.body, null::integer as tries),
held as (
    update {schema}.message as m set taken_until = $4, tries = m.tries + 1
    from standing as s where m.token = s.token and (m.expires_at is null or m.expires_at > $2)
    returning m.token, m.body, m.tries)
select token, body, tries from held union all select token, body, tries from gone order by token

-- name: last_token
-- Returns the highest token that was assigned so far, if this user has the privilege to read it.
select case when has_sequence_privilege(s.name, 'select, usage') then pg_sequence_last_value(s.name::regclass) end
from (select pg_get_serial_sequence(format('%I.message', $1::text), 'token') as name) as s

-- name: writers
-- Returns the open transactions of other sessions that have written messages or are about to.
select l.virtualtransaction from pg_locks as l
where l.locktype = 'relation' and l.granted and l.mode = 'RowExclusiveLock' and l.pid is distinct from pg_backend_pid()
    and l.database = (select oid from pg_database where datname = current_database())
    and l.relation = (select c.oid from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = 'message')

-- name: lowest
-- Returns the first message above the watermark that is not taken, and the earliest instant above it at which a lease
-- on a message ends.
select (select token from {schema}.message
        where queue = $1 and (taken_until, token) > (0.0, $2) and taken_until <= 0.0
        order by taken_until, token limit 1),
    (select taken_until from {schema}.message where queue = $1 and taken_until > $3 order by taken_until, token limit 1)

-- name: are_there
-- Returns those of the tokens that were not withdrawn meanwhile.
select token from {schema}.message where token = any($1::bigint[]) and queue || '' = $2

-- name: withdraw
-- Deletes the requests that have this beginning and name that step, found by their task. Deletes none where several
-- were taken, because a consumer that has stopped one says nothing of the others.
with wanted as materialized (
    select token, tries from {schema}.message
    where substring(body from 1 for 26) = '\x7b2274797065223a2272657175657374222c227461736b223a22'::bytea
        and substring(body from 1 for 63) >= $2 and substring(body from 1 for 63) < $3 and queue || '' = $1
        and position($4::bytea in body) = 1 and position($5::bytea in body) > 0
    order by token for update)
delete from {schema}.message as m using wanted as w
where m.token = w.token and (select count(*) from wanted where tries > 0) <= 1
returning m.token, m.body, m.tries

-- name: extend
-- Extends the leases of messages. Rows are found by their tokens: a queue may be long.
update {schema}.message as m set taken_until = $3
from (select token from {schema}.message where token = any($1::bigint[]) and queue || '' = $2 order by token for update) as v
where m.token = v.token

-- name: delete
-- Deletes messages that were processed or have expired.
delete from {schema}.message as m
using (select token from {schema}.message where token = any($1::bigint[]) and queue || '' = $2 order by token for update) as v
where m.token = v.token

-- name: answer
-- Appends messages to a queue, and deletes those of another queue that they answer.
with answered as (
    delete from {schema}.message as m
    using (
        select token from {schema}.message where token = any($4::bigint[]) and queue || '' = $5 order by token for update
    ) as v
    where m.token = v.token)
insert into {schema}.message (queue, body, expires_at)
select $3, v.body, v.expires_at
from unnest($1::bytea[], $2::float8[]) with ordinality as v (body, expires_at, place) order by v.place

-- name: read
-- Returns the messages after a token in a queue that has one reader, with the snapshot of this query.
select seen.snapshot, m.token, m.body
from (select pg_current_snapshot()::text as snapshot) as seen
left join lateral (
    select token, body from {schema}.message
    where queue = $1 and taken_until between 0.0 and 0.0 and token > $2 and (expires_at is null or expires_at > $4)
    order by taken_until, token limit $3) as m on true
order by m.token

-- name: read_since
-- Returns the messages that an earlier snapshot could not see, whatever their token: transactions do not commit in the
-- order of their tokens.
select seen.snapshot, m.token, m.body
from (select pg_current_snapshot()::text as snapshot) as seen
left join lateral (
    select token, body from {schema}.message
    where queue = $1 and taken_until between 0.0 and 0.0 and token > $2 and (expires_at is null or expires_at > $4)
        and not pg_visible_in_snapshot(xid, $5::text::pg_snapshot)
    order by taken_until, token limit $3) as m on true
order by m.token

-- name: bury
-- Copies messages that cannot be processed to the dead letters.
insert into {schema}.dead_letter (queue, body, reason, tries, buried_at)
select m.queue, m.body, v.reason, m.tries, $4
from unnest($1::bigint[], $2::text[]) as v (token, reason)
join {schema}.message as m on m.token = v.token and m.queue || '' = $3
order by m.token

-- name: bury_body
-- Inserts messages of a broker that cannot be processed into the dead letters.
insert into {schema}.dead_letter (queue, body, reason, tries, buried_at)
select $4, v.body, v.reason, v.tries, $5
from unnest($1::bytea[], $2::text[], $3::integer[]) with ordinality as v (body, reason, tries, place) order by v.place

-- name: filled
-- Returns those of the queues that have a message which is not taken, or whose lease has ended.
select q.queue from unnest($1::text[]) as q (queue)
where exists (select 1 from {schema}.message as m where m.queue = q.queue and m.taken_until <= $2)

-- name: nonempty
-- Returns the queues between two names that have messages, by seeking along the index.
with recursive queues (queue) as (
    (select queue from {schema}.message where queue >= $1 and queue < $2 order by queue, taken_until, token limit 1)
    union all
    select n.queue from queues as q cross join lateral (
        select queue from {schema}.message
        where queue > q.queue and queue < $2 order by queue, taken_until, token limit 1) as n)
select queue from queues limit $3

-- name: open_alert
-- Returns the open alert on dead letters of that queue.
select number, details from {schema}.alert
where acknowledged_at is null and kind = 'dead_letter' and convert_from(details, 'UTF8')::json ->> 'queue' = $1
order by number limit 1 for update

-- name: letters_of
-- Returns how many dead letters a queue has, and their bytes.
select count(*), coalesce(sum(octet_length(body)), 0)::bigint from {schema}.dead_letter where queue = $1

-- name: forget_letters
-- Deletes dead letters that are older than an instant, the oldest first.
delete from {schema}.dead_letter where number in (
    select number from {schema}.dead_letter where buried_at < $1 order by number limit $2)

-- name: dead_letters
-- Returns dead letters, newest first.
select {dead_letter} from {schema}.dead_letter order by number desc limit $1

-- name: take_letters
-- Deletes dead letters and returns their messages.
delete from {schema}.dead_letter where number = any($1::bigint[]) returning number, queue, body

-- name: adopt
-- Moves the messages of one queue to another, not taken. They may be below the watermark of the new queue's reader,
-- which is the process that moves them.
update {schema}.message as m set queue = $2, taken_until = 0.0, xid = pg_current_xact_id()
from (select token from {schema}.message where queue = $1 order by token + 0 for update) as v
where m.token = v.token

-- name: forget_expired
-- Deletes expired messages among the oldest of each queue, by seeking along the index.
with recursive queues (queue) as (
    (select queue from {schema}.message order by queue, taken_until, token limit 1)
    union all
    select n.queue from queues as q cross join lateral (
        select queue from {schema}.message where queue > q.queue order by queue, taken_until, token limit 1) as n)
delete from {schema}.message as m
using (
    select o.token from queues as q cross join lateral (
        select token, expires_at from {schema}.message
        where queue = q.queue order by taken_until, token limit $2) as o
    where o.expires_at <= $1) as v
where m.token = v.token
