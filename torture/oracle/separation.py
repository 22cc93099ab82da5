"""Two applications under one name at one broker: neither touches what is the other's."""

from __future__ import annotations

from collections.abc import Iterator

from torture.books import Records


def apart(books: Records) -> Iterator[str]:
    """No effect of one by an Agent of the other, and no process of another store that began under the name."""
    for trespass in books.trespasses:
        if trespass.began:
            yield f"a process of another store began under the name: {trespass.role}: {trespass.said}"
    if books.beside is None:
        return
    for ours, theirs, whose in ((books, books.beside, "the second"), (books.beside, books, "the first")):
        keys = {f"{step.task}/{step.run}/{step.key}" for step in ours.steps}
        for call in theirs.calls:
            if call.key.partition("#")[0].partition("~")[0] in keys:
                yield f"{call.key}: an Agent of {whose} application was asked for it, and it is the other's"
