-- name: listed
-- Returns the webhooks of the Supervisor that leads, by name.
select name, description, reported_at, taken, taken_at, failing_since, tries, next_try, error, disabled_at, disabled_by
from stepward_webhook order by name

-- name: forget
-- Deletes the webhooks that are not among the names (a JSON array); a disabled one stays so until it is enabled.
delete from stepward_webhook where name not in (select value from json_each(?1)) and disabled_at is null

-- name: report
-- Records a webhook of the Supervisor that leads; what is known of it stays.
insert into stepward_webhook (name, description, reported_at) values (?1, ?2, ?3)
on conflict (name) do update set description = excluded.description, reported_at = excluded.reported_at

-- name: forget_refusals
-- Deletes the refusals of events that are gone.
delete from stepward_webhook_refusal where token not in (select token from stepward_message)

-- name: offer_at_once
-- Deletes the refusals of the events that wait for a webhook, which count as new from then on.
delete from stepward_webhook_refusal where token in (
    select m.token from stepward_webhook_refusal cross join stepward_message as m on m.token = stepward_webhook_refusal.token
    where +m.queue = 'webhooks.' || (select value from stepward_meta where key = 'app') || '.' || ?1)

-- name: newest
-- Returns the token of the newest event of a webhook's queue.
select token from stepward_message where queue = ?1 and taken_until = 0.0 order by token desc limit 1

-- name: waiting
-- Returns the events of a webhook's queue in order, behind a token and up to another, with their refusals.
select m.token, m.body, r.tries, r.refused_at, r.next_try
from stepward_message as m left join stepward_webhook_refusal as r on r.token = m.token
where m.queue = ?1 and m.taken_until = 0.0 and m.token > ?2 and m.token <= ?5
    and (m.expires_at is null or m.expires_at > ?4)
order by m.token limit ?3

-- name: settle_refusals
-- Deletes the refusals of events (a JSON array of tokens).
delete from stepward_webhook_refusal where token in (select value from json_each(?1))

-- name: refuse
-- Records a refusal of an event.
insert into stepward_webhook_refusal (token, tries, refused_at, next_try, error) values (?1, ?2, ?3, ?4, ?5)
on conflict (token) do update set tries = excluded.tries, next_try = excluded.next_try, error = excluded.error

-- name: fare
-- Records how a webhook fares, unless it was disabled meanwhile.
update stepward_webhook set taken = taken + ?2, taken_at = ?3, failing_since = ?4, tries = ?5, next_try = ?6, error = ?7
where name = ?1 and disabled_at is null

-- name: disable
-- Marks a webhook as disabled.
update stepward_webhook set disabled_at = ?2, disabled_by = ?3 where name = ?1 and disabled_at is null

-- name: enable
-- Marks a disabled webhook as enabled, to be asked at once.
update stepward_webhook set disabled_at = null, disabled_by = null, failing_since = null, tries = 0, next_try = 0.0
where name = ?1 and disabled_at is not null
