"""Errors of drivers, read without knowing the driver."""

from __future__ import annotations

CODES = ("sqlstate", "pgcode")


def state_of(error: BaseException) -> str:
    """The SQLSTATE that the server gave; empty for what did not come from it."""
    for each in (error, getattr(error, "orig", None), error.__cause__):
        for code in CODES:
            found = getattr(each, code, None)
            if isinstance(found, str):
                return found
    return ""


def said(error: BaseException) -> str:
    """The driver's message in one line, without the statement and parameters that SQLAlchemy adds."""
    inner = getattr(error, "orig", None) or error
    lines = str(inner).strip().splitlines()
    return f"{type(inner).__name__}: {' '.join(lines[0].split()) if lines else 'no more'}"[:300]
