-- name: add
-- Inserts a token or a session; at most one live token has a given name.
insert into stepward_credential ({credential})
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
where ?2 <> 'token' or not exists (
    select 1 from stepward_credential as c
    where c.kind = 'token' and c.name = ?3 and c.revoked_at is null and (c.expires_at is null or c.expires_at > ?13))

-- name: one
-- Returns the credential with that public part of a token or cookie.
select {credential} from stepward_credential where id = ?1

-- name: listed
-- Returns the tokens and sessions that admins list.
select {credential} from stepward_credential order by kind desc, name, created_at

-- name: revoke
-- Revokes a credential from an instant on.
update stepward_credential set revoked_at = ?2 where id = ?1 and revoked_at is null and (expires_at is null or expires_at > ?2)

-- name: forget
-- Deletes credentials that ended before an instant.
delete from stepward_credential where revoked_at < ?1 or expires_at < ?1
