-- How instances ended, and the offsets of their hosts' clocks.

-- Whether a dead instance stopped in good order.
alter table stepward_instance add column ended integer not null default 0 check (ended in (0, 1));
-- Seconds by which the wall clock of its host was ahead of the store's when it last renewed its lease.
alter table stepward_instance add column ahead real;
