-- The shop's orders. They stand in the same file as Stepward's own tables, so that an order and its task, or an
-- order's new state and its step's outcome, commit together.
CREATE TABLE IF NOT EXISTS customer_order (
    id           TEXT PRIMARY KEY,
    customer     TEXT NOT NULL,
    product      TEXT NOT NULL,
    quantity     INTEGER NOT NULL CHECK (quantity > 0),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    address      TEXT NOT NULL,
    care         TEXT NOT NULL CHECK (care IN ('normal', 'patient', 'personal')),
    state        TEXT NOT NULL DEFAULT 'Pending'
        CHECK (state IN ('Pending', 'Processing', 'Processed', 'Undone', 'Cancelled', 'Error')),
    tracking     TEXT
) STRICT;
