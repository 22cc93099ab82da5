-- name: insert
-- Inserts tasks with their planned steps and first status events. Returns a row for each task that was inserted, with
-- the id of the server's database in the first column. All values come as one JSON text, because not every driver has
-- arrays. Ids are inserted in order, so that two transactions cannot deadlock.
with given as materialized (select cast(cast(:given as text) as json) as lists),
made as (
    insert into {schema}.task ({task})
    select {task_values} from given, json_to_recordset(lists -> 'tasks') as v ({task_columns})
    order by v.id
    on conflict (id) do nothing
    returning uid
),
planned as (
    insert into {schema}.step ({step})
    select {step_values} from given, json_to_recordset(lists -> 'steps') as v ({step_columns})
    where v.task in (select uid from made)
),
reported as (
    insert into {schema}.message (queue, body, expires_at)
    select v.queue, decode(v.body, 'base64'), v.expires_at
    from given, json_to_recordset(lists -> 'events') as v (task text, queue text, body text, expires_at float8)
    where v.task in (select uid from made)
)
select {here}, made.uid from (values (1)) as one left join made on true

-- name: existing
-- Returns whether tasks that exist are equal to those submitted; the input of a later run is not what was submitted.
-- Without an input to compare with, as where inputs are encrypted, it returns the input that was submitted in base64.
select v.place, t.uid, t.workflow = v.workflow and (t.run > 1 or v.input is null or t.input = decode(v.input, 'base64')),
    case when v.input is null and t.run = 1 then encode(t.input, 'base64') end
from json_to_recordset(cast(cast(:given as text) as json)) as v (place integer, id text, workflow text, input text)
join {schema}.task as t on t.id = v.id

-- name: here
-- Returns the id of this server and database.
select {here}
