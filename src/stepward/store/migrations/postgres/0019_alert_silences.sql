-- Until when no sink gets alerts of a kind, of one workflow ('': of all).

create table {schema}.alert_silence (
    kind text collate "C" not null,
    workflow text collate "C" not null,
    until float8 not null,
    set_at float8 not null,
    set_by text not null,
    note text,
    primary key (kind, workflow)
);
