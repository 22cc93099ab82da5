-- Credentials over HTTP: API tokens, and sessions of browsers that signed in.

create table stepward_credential (
    id text not null primary key,
    kind text not null check (kind in ('token', 'session')),
    name text not null,
    secret_hash blob not null,
    role text not null check (role in ('viewer', 'operator', 'admin')),
    payloads integer not null check (payloads in (0, 1)),
    workflows text not null check (json_valid(workflows)),
    labels text not null check (json_valid(labels)),
    created_at real not null,
    created_by text not null,
    expires_at real,
    revoked_at real
) strict, without rowid;
