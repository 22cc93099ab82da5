-- name: missing
-- Returns the privileges on tables that this user lacks, each with the user's name. A table of a newer version may not
-- exist yet.
select v.table_name, v.privilege, current_user::text
from unnest($2::text[], $3::text[]) with ordinality as v (table_name, privilege, place)
join pg_namespace as n on n.nspname = $1
left join pg_class as c on c.relnamespace = n.oid and c.relname = v.table_name and c.relkind = 'r'
where not has_schema_privilege(n.oid, 'usage') or not coalesce(has_table_privilege(c.oid, v.privilege), false)
order by v.place

-- name: owner
-- Returns the owner of the tables, and whether this user may alter them with the owner's rights.
select pg_get_userbyid(c.relowner)::text, pg_has_role(c.relowner, 'usage'), current_user::text
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = 'meta' and c.relkind = 'r'
