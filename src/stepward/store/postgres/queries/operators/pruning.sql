-- name: acts
-- Returns a page of the audit after an act, with the hashes.
select {audit}, hash
from (
    select {audit}, hash, sum(octet_length(details)) over (order by number) - octet_length(details) as above
    from (select {audit}, hash from {schema}.audit where number > $1 order by number limit $2) as found) as page
where above < $3 order by number

-- name: old_alerts
-- Returns alerts that were acknowledged before an instant.
select {alert} from {schema}.alert where acknowledged_at < $1 order by number limit $2

-- name: head
-- Returns the number and the hash of the newest act.
select number, hash from {schema}.audit order by number desc limit 1

-- name: beginning
-- Returns the hashes of the first act and of the act with that number.
select (select hash from {schema}.audit order by number limit 1), (select hash from {schema}.audit where number = $1)

-- name: prune_acts
-- Deletes the acts from the first to a number.
delete from {schema}.audit where number <= $1

-- name: prune_alerts
-- Deletes the acknowledged alerts with these numbers.
delete from {schema}.alert where number = any($1::bigint[]) and acknowledged_at is not null

-- name: prune_receipts
-- Deletes the receipts of alerts with these numbers.
delete from {schema}.alert_receipt where number = any($1::bigint[])
