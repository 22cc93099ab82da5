-- Values that tasks write for readers outside, and updates that tasks are asked for.

create table {schema}.live_value (
    task text collate "C" not null,
    name text collate "C" not null,
    value bytea not null,
    at float8 not null,
    primary key (task, name)
);

-- Positions count from 0 without gaps.
create table {schema}.stream_value (
    task text collate "C" not null,
    name text collate "C" not null,
    position integer not null check (position >= 0),
    value bytea not null,
    at float8 not null,
    primary key (task, name, position)
);

create table {schema}.update_request (
    task text collate "C" not null,
    id text collate "C" not null,
    name text not null,
    state text not null check (state in ('asked', 'accepted', 'rejected')),
    answer bytea,
    asked_at float8 not null,
    answered_at float8,
    primary key (task, id),
    constraint update_answered check ((state = 'asked') = (answer is null))
);

-- Appends values to a stream and returns their number. Two transactions may append to one stream, a turn and a
-- transactional step: the second waits for the first to end, so that positions have no gaps and readers miss none.
create function {schema}.append_values(of_task text, of_stream text, given bytea[], given_at float8) returns integer
language plpgsql as $$
declare
    first integer;
begin
    perform pg_advisory_xact_lock(hashtextextended('{schema}/' || of_task || '/' || of_stream, 0));
    select coalesce(max(position) + 1, 0) into first from {schema}.stream_value
    where task = of_task and name = of_stream;
    insert into {schema}.stream_value (task, name, position, value, at)
    select of_task, of_stream, first + v.place - 1, v.value, given_at
    from unnest(given) with ordinality as v (value, place);
    return cardinality(given);
end $$;
