"""Errors of SQLite in Stepward's words: one clear line that says what to do."""

from __future__ import annotations

import apsw

from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.store.store_errors import detail

BUSY = (apsw.BusyError, apsw.LockedError)
DATA = (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, UnicodeError, OverflowError)
"""What a value that SQLite does not take raises; the last two come from binding it."""

ADVICE: dict[type[apsw.Error], tuple[type[StepwardError], str]] = {
    apsw.FullError: (
        StoreUnavailable,
        "expected room for what is written, found that the disk is full; make room",
    ),
    apsw.ReadOnlyError: (
        StoreUnavailable,
        "expected a file that may be written, found a read-only one; allow writing to it and to its folder",
    ),
    apsw.CantOpenError: (
        StoreUnavailable,
        "expected a file that can be opened, found none; look at its permissions",
    ),
    apsw.PermissionsError: (
        StoreUnavailable,
        "expected access to the file, found it denied; look at its permissions",
    ),
    apsw.NotADBError: (
        StoreUnusable,
        "expected a SQLite database, found another kind of file; name a new file or a Stepward store",
    ),
    apsw.CorruptError: (
        StoreUnusable,
        "expected an intact database, found a damaged one; stop every process and restore a backup",
    ),
}


def translated(error: apsw.Error, path: str) -> StepwardError:
    """The error of Stepward's tree that says what ``error`` means for users of a file."""
    for kind, (answer, advice) in ADVICE.items():
        if isinstance(error, kind):
            return answer(f"store {path}: {advice}")
    return StoreUnavailable(f"store {path}: expected SQLite to do it, found {detail(error)}; try again")
