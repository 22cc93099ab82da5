-- name: listed
-- How many tasks are in a state that is listed, up to a bound, and the oldest of them.
select count(*), min(uid) from (
    select uid from {schema}.task
    where state not in ('processing', 'processed', 'undone', 'cancelled') and state = $1
    order by created_at, uid limit $2) as listed

-- name: processing
-- The same of tasks that are being processed.
select count(*), min(uid) from (
    select uid from {schema}.task where locked_by is not null and state = 'processing' limit $1) as held

-- name: late
-- How many live tasks have used up that part of the time until their deadline, among those whose deadline comes first.
select coalesce(count(*) filter (where $1::float8 - created_at > $2::float8 * (deadline - created_at)), 0) from (
    select created_at, deadline from {schema}.task
    where deadline is not null and finished_at is null and state <> 'undoing' order by deadline limit $3) as due

-- name: submitted
-- By bucket of so many seconds since an instant: the newest tasks with uids from one on, up to a bound.
select floor((created_at - $2::float8) / $3::float8)::int as bucket, 'submitted', count(*) from (
    select created_at from {schema}.task where uid >= $1 order by uid desc limit $4) as newest
where created_at >= $2::float8 group by bucket

-- name: ended
-- The same of tasks that ended from an instant on, by the state that they ended in.
select floor((finished_at - $1::float8) / $2::float8)::int as bucket, state, count(*) from (
    select finished_at, state from {schema}.task
    where finished_at is not null and state <> 'error' and finished_at >= $1::float8
    order by finished_at desc limit $3) as newest
group by bucket, state

-- name: failed
-- The same of the newest tasks that are in error.
select floor((finished_at - $1::float8) / $2::float8)::int as bucket, 'error', count(*) from (
    select finished_at from {schema}.task
    where state not in ('processing', 'processed', 'undone', 'cancelled') and state = 'error'
    order by created_at desc, uid desc limit $3) as newest
where finished_at >= $1::float8 group by bucket

-- name: leader
-- The Supervisor that leads.
select instance, expires_at from {schema}.leadership

-- name: open_alerts
-- How many alerts are open, up to a bound.
select count(*) from (select 1 from {schema}.alert where acknowledged_at is null limit $1) as seen

-- name: dead_letters
-- How many dead letters there are, up to a bound.
select count(*) from (select 1 from {schema}.dead_letter limit $1) as kept
