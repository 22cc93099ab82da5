-- name: note
-- Writes the latest progress of running attempts, which replaces the progress of an earlier attempt; returns the steps
-- it could read. Steps that another transaction has locked are skipped, so that neither waits for the other.
with seen as materialized (
    select s.task, s.run, s.key, v.progress, v.at,
        s.attempt = v.attempt and s.state = 'running'
            and (s.progress_at is null or s.progress_at < v.at or s.progress_at < s.started_at) as is_news
    from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::bytea[], $6::float8[])
        as v (task, run, key, attempt, progress, at)
    join {schema}.step as s on s.task = v.task and s.run = v.run and s.key = v.key
    for update of s skip locked),
noted as (
    update {schema}.step as s set progress = seen.progress, progress_at = seen.at
    from seen
    where seen.is_news and s.task = seen.task and s.run = seen.run and s.key = seen.key)
select task, run, key from seen
