-- name: acts
-- A page of the audit behind an act, with the hashes.
select {audit}, hash
from (
    select {audit}, hash, sum(length(details)) over (order by number) - length(details) as above
    from (select {audit}, hash from stepward_audit where number > ?1 order by number limit ?2))
where above < ?3 order by number

-- name: old_alerts
-- Alerts that were acknowledged before an instant.
select {alert} from stepward_alert where acknowledged_at < ?1 order by number limit ?2

-- name: beginning
-- The hashes of the first act and of the act of that number.
select (select hash from stepward_audit order by number limit 1), (select hash from stepward_audit where number = ?1)

-- name: prune_acts
-- Acts from the beginning up to a number.
delete from stepward_audit where number <= ?1

-- name: prune_alerts
-- Alerts of a JSON array of numbers, once they are acknowledged.
delete from stepward_alert
where number in (select value from json_each(?1)) and acknowledged_at is not null
