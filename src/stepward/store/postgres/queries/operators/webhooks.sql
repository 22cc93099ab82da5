-- name: listed
-- Returns the webhooks of the Supervisor that leads, by name.
select name, description, reported_at, taken, taken_at, failing_since, tries, next_try, error, disabled_at, disabled_by
from {schema}.webhook order by name

-- name: forget
-- Deletes the webhooks that are not among the names; a disabled one stays so until it is enabled.
delete from {schema}.webhook where name <> all($1::text[]) and disabled_at is null

-- name: report
-- Records a webhook of the Supervisor that leads; what is known of it stays.
insert into {schema}.webhook (name, description, reported_at) values ($1, $2, $3)
on conflict (name) do update set description = excluded.description, reported_at = excluded.reported_at

-- name: forget_refusals
-- Deletes the refusals of events that are gone.
delete from {schema}.webhook_refusal as r
where not exists (select 1 from {schema}.message as m where m.token = r.token)

-- name: offer_at_once
-- Deletes the refusals of the events that wait for a webhook, which count as new from then on.
delete from {schema}.webhook_refusal as r using {schema}.message as m where m.token = r.token
    and m.queue = 'webhooks.' || (select value from {schema}.meta where key = 'app') || '.' || $1

-- name: newest
-- Returns the token of the newest event of a webhook's queue.
select token from {schema}.message where queue = $1 and taken_until between 0.0 and 0.0
order by taken_until desc, token desc limit 1

-- name: waiting
-- Returns the events of a webhook's queue in order, behind a token and up to another, with their refusals.
select m.token, m.body, r.tries, r.refused_at, r.next_try
from {schema}.message as m left join {schema}.webhook_refusal as r on r.token = m.token
where m.queue = $1 and m.taken_until between 0.0 and 0.0 and m.token > $2 and m.token <= $5
    and (m.expires_at is null or m.expires_at > $4)
order by m.taken_until, m.token limit $3

-- name: settle_refusals
-- Deletes the refusals of events.
delete from {schema}.webhook_refusal where token = any($1::bigint[])

-- name: refuse
-- Records a refusal of an event.
insert into {schema}.webhook_refusal (token, tries, refused_at, next_try, error) values ($1, $2, $3, $4, $5)
on conflict (token) do update set tries = excluded.tries, next_try = excluded.next_try, error = excluded.error

-- name: fare
-- Records how a webhook fares, unless it was disabled meanwhile.
update {schema}.webhook as w set taken = w.taken + $2, taken_at = $3, failing_since = $4, tries = $5, next_try = $6, error = $7
where w.name = $1 and w.disabled_at is null

-- name: disable
-- Marks a webhook as disabled.
update {schema}.webhook set disabled_at = $2, disabled_by = $3 where name = $1 and disabled_at is null

-- name: enable
-- Marks a disabled webhook as enabled, to be asked at once.
update {schema}.webhook set disabled_at = null, disabled_by = null, failing_since = null, tries = 0, next_try = 0.0
where name = $1 and disabled_at is not null
