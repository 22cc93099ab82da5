"""What a narrow login that misbehaves may not do: finish anything, or stop a queue that is not its own."""

from __future__ import annotations

from collections.abc import Iterator

from torture.books import Records


def intrusions(books: Records) -> Iterator[str]:
    """Its replies are no step's outcome, and the steps of other Agents end meanwhile."""
    for step in books.stolen:
        yield f"{step}: was finished by a reply that the narrow login made up"
    for number, intrusion in enumerate(books.intrusions, 1):
        if intrusion.others == 0:
            yield f"intrusion {number}, {intrusion.kind}: expected steps of the other Agent to end, found none"
