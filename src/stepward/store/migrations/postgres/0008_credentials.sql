-- Credentials over HTTP: API tokens, and sessions of browsers that signed in.

create table {schema}.credential (
    id text collate "C" not null primary key,
    kind text collate "C" not null check (kind in ('token', 'session')),
    name text collate "C" not null,
    secret_hash bytea not null,
    role text collate "C" not null check (role in ('viewer', 'operator', 'admin')),
    payloads boolean not null,
    workflows text not null,
    labels text not null,
    created_at float8 not null,
    created_by text not null,
    expires_at float8,
    revoked_at float8
);
