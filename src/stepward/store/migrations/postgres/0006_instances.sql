-- How instances ended, and the offsets of their hosts' clocks.

-- Whether a dead instance stopped in good order.
alter table {schema}.instance add column ended boolean not null default false;
-- Seconds by which the wall clock of its host was ahead of the store's when it last renewed its lease.
alter table {schema}.instance add column ahead float8;
