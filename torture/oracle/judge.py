"""All rules together."""

from __future__ import annotations

from collections.abc import Iterator

from torture.books import Records
from torture.oracle.at_rest import rest
from torture.oracle.effects import effects
from torture.oracle.ends import ends
from torture.oracle.events import events
from torture.oracle.history import history
from torture.oracle.migrations import migrations
from torture.oracle.misbehaving_login import intrusions
from torture.oracle.separation import apart
from torture.oracle.snapshots import snapshots


def judge(books: Records) -> list[str]:
    """The broken rules, one line each."""
    return list(_broken(books))


def _broken(books: Records) -> Iterator[str]:
    for rule in (ends, effects, history, events, rest, snapshots, apart, intrusions, migrations):
        yield from rule(books)
