-- Pages of steps keep room for the outcome of each step: an update that finds room in its own page writes no index.
-- Holds for pages that are filled from now on.

alter table {schema}.step set (fillfactor = 45);
