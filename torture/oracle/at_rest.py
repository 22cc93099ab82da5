"""The rest after a run: no waiting message, and no instance that counts as alive."""

from __future__ import annotations

from collections.abc import Iterator

from torture.books import Records

BINDING = frozenset({"undo", "cancel", "suspend", "fail"})
"""Ends that a task must not have; reports of what is past do no harm."""


def rest(books: Records) -> Iterator[str]:
    """Conservation: each message became a task or nothing is left of it."""
    for queue, count in books.queued.items():
        yield f"{queue}: expected it empty, found {count} messages"
    for reason in books.letters:
        yield f"a dead letter that nobody wrote: {reason}"
    for instance in books.alive:
        yield f"{instance}: ended in good order, and passes for alive"
    for task in books.tasks:
        if BINDING.intersection(task.unread):
            yield f"{task.id}: is over, and nobody has read what it was told: {', '.join(task.unread)}"
