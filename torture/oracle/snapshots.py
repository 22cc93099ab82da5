"""What a snapshot shows: all that was acknowledged before it, and the same until its end."""

from __future__ import annotations

from collections.abc import Iterator

from torture.books import Records


def snapshots(books: Records) -> Iterator[str]:
    """A dump that is restored has lost nothing that came before it."""
    for number, snapshot in enumerate(books.snapshots, 1):
        for id in sorted(set(snapshot.acknowledged) - set(snapshot.seen)):
            yield f"{id}: was acknowledged before snapshot {number} of {snapshot.by}, and is not in it"
        for id in sorted(set(snapshot.seen) ^ set(snapshot.again)):
            yield f"{id}: snapshot {number} of {snapshot.by} changed while it was held"
