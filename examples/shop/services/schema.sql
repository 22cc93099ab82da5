-- Tables of a service beside its ledger: its answers and its faults.

-- The answer to each key, refusals included; written in the transaction of the effect.
CREATE TABLE IF NOT EXISTS answer (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    status      INTEGER NOT NULL,
    body        BLOB NOT NULL
) STRICT;

-- Faults in force. times: how often it may still apply, null without limit; seen: calls that it matched.
CREATE TABLE IF NOT EXISTS fault (
    number   INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    order_id TEXT NOT NULL,
    action   TEXT NOT NULL,
    times    INTEGER CHECK (times >= 0),
    seconds  REAL,
    rate     REAL,
    seen     INTEGER NOT NULL DEFAULT 0,
    hits     INTEGER NOT NULL DEFAULT 0
) STRICT;
