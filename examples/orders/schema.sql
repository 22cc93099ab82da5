-- The shop's orders. They stand in the same database as Stepward's own tables, so that an order and its task, or an
-- order's new state and its step's outcome, commit together. closed: its task has ended, and the state is final.
-- The bookkeeper reads open orders only: the second key keeps them together, however many orders there are.
CREATE TABLE IF NOT EXISTS customer_order (
    id           TEXT PRIMARY KEY,
    customer     TEXT NOT NULL,
    lines        TEXT NOT NULL CHECK (lines LIKE '[{%}]'),
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    address      TEXT NOT NULL,
    care         TEXT NOT NULL CHECK (care IN ('normal', 'patient', 'personal')),
    state        TEXT NOT NULL DEFAULT 'Pending'
        CHECK (state IN ('Pending', 'Processing', 'Processed', 'Undone', 'Cancelled', 'Error')),
    tracking     TEXT,
    closed       INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
    UNIQUE (closed, id)
);
