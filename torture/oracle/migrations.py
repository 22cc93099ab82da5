"""What a migration leaves: the version that was wanted, whole; and those that work meanwhile go on."""

from __future__ import annotations

from collections.abc import Iterator

from torture.books import Records

MOST_SECONDS = 30.0
"""For which no step may end: a machine under load takes long, and a table that is locked for ever takes longer."""


def migrations(books: Records) -> Iterator[str]:
    """No step waits for it, and nothing of it is half done."""
    for migration in books.migrations:
        what = f"migration to version {migration.version}"
        if migration.ended == 0:
            yield f"{what}: expected steps to end meanwhile, found none"
        elif migration.longest is not None and migration.longest > MOST_SECONDS:
            yield f"{what}: expected steps to end all the while, found none for {migration.longest:.0f} s"
    if (now := books.standing) is not None:
        if now.version != now.expected or now.parts:
            yield f"tables: expected version {now.expected}, found {now.version} and {now.parts} parts of the next"
        if now.unfinished:
            yield f"tables: expected every index whole, found {now.unfinished} that were not made to their end"
