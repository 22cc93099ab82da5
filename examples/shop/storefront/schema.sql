-- The storefront's own database file: baskets, orders, and the status events of the orders.

CREATE TABLE IF NOT EXISTS basket_line (
    visitor    TEXT NOT NULL,
    product    TEXT NOT NULL,
    quantity   INTEGER NOT NULL CHECK (quantity > 0),
    changed_at TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (visitor, product)
) STRICT;

-- An order is inserted before its message is posted. is_posted: the message is known to be in the queue.
CREATE TABLE IF NOT EXISTS placed_order (
    id           TEXT PRIMARY KEY,
    visitor      TEXT NOT NULL,
    customer     TEXT NOT NULL,
    address      TEXT NOT NULL,
    care         TEXT NOT NULL CHECK (care IN ('normal', 'patient', 'personal')),
    lines        TEXT NOT NULL CHECK (json_valid(lines)),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    placed_at    TEXT NOT NULL,
    is_posted    INTEGER NOT NULL DEFAULT 0 CHECK (is_posted IN (0, 1))
) STRICT;

CREATE INDEX IF NOT EXISTS placed_order_of_visitor ON placed_order (visitor, placed_at);

-- One row per status event, however often it came.
CREATE TABLE IF NOT EXISTS order_event (
    order_id TEXT NOT NULL REFERENCES placed_order (id),
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    id       TEXT NOT NULL,
    type     TEXT NOT NULL,
    time     TEXT NOT NULL,
    data     TEXT NOT NULL CHECK (json_valid(data)),
    PRIMARY KEY (order_id, sequence)
) STRICT, WITHOUT ROWID;
