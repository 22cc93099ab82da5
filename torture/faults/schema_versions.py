"""Which versions of the store's tables a process knows.

A file says it, as it stood when the process began: those of the version before go on, and each that comes after them
knows the next one. What follows the product's newest version is one of its migrations once more, with a column of its
own; those of the product's own come first that only make indexes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from stepward.store.postgres.schema import versions

VARIABLE = "TORTURE_SCHEMA"
"""Names the file."""
OURS = tuple(versions.migrations())
NEWEST = len(OURS)
BEFORE = max(number for number, text in OURS if "create table" in text or "add column" in text)
"""Where a store begins that is to be migrated: with all tables and columns that this program uses."""
REPEATED = dict(OURS)[7]
"""A migration that can be done again, as its indexes replace those before, on tables that all work needs. It has parts
beside transactions and in them."""
COLUMN = "alter table {schema}.task add column torture_$VERSION integer;\n"


class Known:
    """The newest version that processes are to know."""

    def __init__(self, file: Path, version: int, spoilt: str = "") -> None:
        self.file = file
        self.version = version
        self._spoilt = spoilt
        """What each migration after the product's does besides: a bug that must be found."""
        self._write()

    def next(self) -> int:
        """Let processes that begin from now on know one more."""
        self.version += 1
        self._write()
        return self.version

    @contextmanager
    def here(self) -> Iterator[None]:
        """Within the block this process knows as much."""
        with patch.object(versions, "migrations", _known(self.file)):
            yield

    def _write(self) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(f"{self.version}\n{self._spoilt}")
        new.replace(self.file)


def know() -> None:
    """Know what the file says until this process ends, if it was given one."""
    if VARIABLE in os.environ:
        patch.object(versions, "migrations", _known(Path(os.environ[VARIABLE]))).start()


def _known(file: Path) -> Callable[[], Sequence[Any]]:
    version, _, spoilt = file.read_text().partition("\n")
    later = [
        (number, COLUMN.replace("$VERSION", str(number)) + spoilt + REPEATED)
        for number in range(NEWEST + 1, int(version) + 1)
    ]
    known = [*OURS, *later][: int(version)]
    return lambda: known
