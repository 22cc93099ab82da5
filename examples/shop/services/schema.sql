-- The ledger of one service: what it did, what it answered, how often it was asked, how it misbehaves.

-- One row per effect. The invariants stand here a second time: one effect per key, undone at most once.
CREATE TABLE IF NOT EXISTS effect (
    number   INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    key      TEXT NOT NULL UNIQUE,
    action   TEXT NOT NULL,
    order_id TEXT NOT NULL,
    details  TEXT NOT NULL CHECK (json_valid(details)),
    undoes   TEXT UNIQUE REFERENCES effect (key)
) STRICT;

-- What a key was answered, refusals included; written in the transaction of its effect.
CREATE TABLE IF NOT EXISTS answer (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    status      INTEGER NOT NULL,
    body        BLOB NOT NULL
) STRICT;

-- Keys that were undone before they were done: they never take effect.
CREATE TABLE IF NOT EXISTS tombstone (
    key     TEXT PRIMARY KEY,
    at      TEXT NOT NULL,
    left_by TEXT NOT NULL
) STRICT;

-- One row per arrival of a key, whatever became of it.
CREATE TABLE IF NOT EXISTS delivery (
    number INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    key    TEXT NOT NULL
) STRICT;

-- Faults in force. times: how often it may still strike, null without limit; seen: calls that it matched.
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
