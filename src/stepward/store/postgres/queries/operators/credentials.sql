-- name: add
-- Inserts a token or a session; at most one live token has a given name.
insert into {schema}.credential ({credential})
select $1::text, $2::text, $3::text, $4::bytea, $5::text, $6::boolean, $7::text, $8::text, $9::float8, $10::text, $11::float8, $12::float8
where $2::text <> 'token' or not exists (
    select 1 from {schema}.credential as c
    where c.kind = 'token' and c.name = $3::text and c.revoked_at is null and (c.expires_at is null or c.expires_at > $13::float8))

-- name: one
-- Returns the credential with that public part of a token or cookie.
select {credential} from {schema}.credential where id = $1

-- name: listed
-- Returns the tokens and sessions that admins list.
select {credential} from {schema}.credential order by kind desc, name, created_at

-- name: revoke
-- Revokes a credential from an instant on.
update {schema}.credential set revoked_at = $2 where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)

-- name: forget
-- Deletes credentials that ended before an instant.
delete from {schema}.credential where revoked_at < $1 or expires_at < $1
