-- Until when no sink gets alerts of a kind, of one workflow ('': of all).

create table stepward_alert_silence (
    kind text not null,
    workflow text not null,
    until real not null,
    set_at real not null,
    set_by text not null,
    note text,
    primary key (kind, workflow)
) strict;
