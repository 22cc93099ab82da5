-- Since when an operator wants the process of an instance to end in good order.

alter table {schema}.instance add column drain_at float8;
