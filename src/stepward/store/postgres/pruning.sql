-- name: acts
-- A page of the audit behind an act, with the hashes.
select {audit}, hash
from (
    select {audit}, hash, sum(octet_length(details)) over (order by number) - octet_length(details) as above
    from (select {audit}, hash from {schema}.audit where number > $1 order by number limit $2) as found) as page
where above < $3 order by number

-- name: old_alerts
-- Alerts that were acknowledged before an instant.
select {alert} from {schema}.alert where acknowledged_at < $1 order by number limit $2

-- name: beginning
-- The hashes of the first act and of the act of that number.
select (select hash from {schema}.audit order by number limit 1), (select hash from {schema}.audit where number = $1)

-- name: prune_acts
-- Acts from the beginning up to a number.
delete from {schema}.audit where number <= $1

-- name: prune_alerts
-- Alerts of these numbers, once they are acknowledged.
delete from {schema}.alert where number = any($1::bigint[]) and acknowledged_at is not null
