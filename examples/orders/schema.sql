-- The shop's orders. They stand in the same file as Stepward's own tables, so that an order and its task, or an
-- order's new state and its step's outcome, commit together. closed: its task has ended, and the state is final.
CREATE TABLE IF NOT EXISTS customer_order (
    id           TEXT PRIMARY KEY,
    customer     TEXT NOT NULL,
    lines        TEXT NOT NULL CHECK (json_array_length(lines) > 0),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    address      TEXT NOT NULL,
    care         TEXT NOT NULL CHECK (care IN ('normal', 'patient', 'personal')),
    state        TEXT NOT NULL DEFAULT 'Pending'
        CHECK (state IN ('Pending', 'Processing', 'Processed', 'Undone', 'Cancelled', 'Error')),
    tracking     TEXT,
    closed       INTEGER NOT NULL DEFAULT FALSE CHECK (closed IN (FALSE, TRUE))
) STRICT;

-- The bookkeeper looks at open orders alone, however many there were.
CREATE INDEX IF NOT EXISTS open_order ON customer_order (closed) WHERE NOT closed;
