"""The ledger of a remote service: one effect per key, none under a key that was undone, and every arrival counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from servers.ledger import SCHEMA, EffectLedger

NOW = "2026-11-24T12:00:00+00:00"


@pytest.fixture
def ledger() -> Iterator[EffectLedger]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        yield EffectLedger(connection)


def test_a_key_has_one_effect(ledger: EffectLedger) -> None:
    ledger.enter("key-1", "charge", "order-1", {"amount_cents": 4200}, at=NOW)
    with pytest.raises(sqlite3.IntegrityError):
        ledger.enter("key-1", "charge", "order-1", {"amount_cents": 4200}, at=NOW)
    [effect] = ledger.effects()
    assert effect == ledger.effect("key-1")
    assert (effect.number, effect.details, effect.undoes) == (1, {"amount_cents": 4200}, None)
    assert ledger.effect("key-2") is None


def test_an_effect_is_taken_back_once(ledger: EffectLedger) -> None:
    ledger.enter("key-1", "charge", "order-1", {}, at=NOW)
    assert not ledger.is_taken_back("key-1")
    ledger.enter("key-2", "refund", "order-1", {}, at=NOW, undoes="key-1")
    assert ledger.is_taken_back("key-1")
    with pytest.raises(sqlite3.IntegrityError):
        ledger.enter("key-3", "refund", "order-1", {}, at=NOW, undoes="key-1")


def test_a_call_after_its_undo_is_refused_and_counted(ledger: EffectLedger) -> None:
    assert not ledger.refuses("key-1", NOW)
    ledger.bury("key-1", NOW, "key-2")
    ledger.bury("key-1", NOW, "key-3")
    assert [ledger.refuses("key-1", NOW), ledger.refuses("key-1", NOW)] == [True, True]
    assert ledger.refusals() == 2


def test_each_arrival_of_a_key_is_counted(ledger: EffectLedger) -> None:
    assert [ledger.deliver(key, NOW) for key in ("key-1", "key-2", "key-1")] == [1, 1, 2]
    assert ledger.deliveries() == {"key-1": 2, "key-2": 1}
