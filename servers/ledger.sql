-- The ledger of a remote service, which adds tables of its own.

-- One row per effect. Constraints hold the invariants a second time: one effect per key, undone at most once.
CREATE TABLE IF NOT EXISTS effect (
    number   INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    key      TEXT NOT NULL UNIQUE,
    action   TEXT NOT NULL,
    order_id TEXT NOT NULL,
    details  TEXT NOT NULL CHECK (json_valid(details)),
    undoes   TEXT UNIQUE REFERENCES effect (key)
) STRICT;

-- Keys that were undone, even before they were executed: from then on they have no effect.
CREATE TABLE IF NOT EXISTS tombstone (
    key     TEXT PRIMARY KEY,
    at      TEXT NOT NULL,
    left_by TEXT NOT NULL
) STRICT;

-- One row per arrival of a key, whatever its outcome.
CREATE TABLE IF NOT EXISTS delivery (
    number INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    key    TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS delivery_key ON delivery (key);

-- One row per arrival that was refused because its undo had arrived before.
CREATE TABLE IF NOT EXISTS refusal (
    number INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    key    TEXT NOT NULL
) STRICT;
