"""What the simulation sees of a transaction: all that was committed, and nothing that was rolled back."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from simulation.invariants.history import Act, Change, triggers, watched
from simulation.invariants.watched_rows import OrderRow
from stepward.store.sqlite.engine.connection import Connection


@pytest.fixture
def seen() -> Iterator[list[list[str]]]:
    """The orders of each committed transaction, as they are reported."""
    found: list[list[str]] = []

    def committed(entries: list[Change], verb: Act) -> None:
        found.append([entry.after.id for entry in entries])

    with watched(committed):
        yield found


@pytest.fixture
def connection(seen: list[list[str]]) -> Iterator[Connection]:
    """A connection that was opened meanwhile, beside an application's table."""
    connection = Connection("file:/history?vfs=memdb")
    connection.raw.execute("create table simulated_order (id text not null primary key) strict")
    script = next(line for line in triggers().split("\n") if "simulated_order_insert" in line)
    connection.raw.execute(script)
    connection.begin("begin immediate")
    yield connection
    connection.close()


def add(connection: Connection, id: str) -> None:
    connection.rows("insert into simulated_order values (?)", (id,))


def test_a_committed_transaction_is_reported_as_one(connection: Connection, seen: list[list[str]]) -> None:
    add(connection, "a")
    add(connection, "b")
    assert seen == []
    connection.commit()
    assert seen == [["a", "b"]]
    assert OrderRow("a") == ("a",)


def test_a_rolled_back_transaction_is_not_reported(connection: Connection, seen: list[list[str]]) -> None:
    add(connection, "a")
    connection.rollback()
    connection.begin("begin immediate")
    add(connection, "b")
    connection.commit()
    assert seen == [["b"]]


def test_a_savepoint_takes_back_its_own_part(connection: Connection, seen: list[list[str]]) -> None:
    add(connection, "before")
    with pytest.raises(KeyError), connection.savepoint():
        add(connection, "outer")
        with connection.savepoint():
            add(connection, "inner")
        raise KeyError
    with connection.savepoint():
        add(connection, "kept")
        with pytest.raises(apsw.ConstraintError), connection.savepoint():
            add(connection, "lost")
            add(connection, "lost")
    connection.commit()
    assert seen == [["before", "kept"]]
