"""Passwords on a command line: everybody on the host can read them there."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHOWN = re.compile(r"\w://[^/@]*:[^@]+@|\w://.*[?&]password=.")
"""An address with a user and a password, or with the password among its parameters."""
WARNING = (
    "stepward: expected no password on the command line, where ps shows it to everybody on this host, found one; put "
    "the address into STEPWARD_STORE, STEPWARD_TRANSPORT or stepward.toml, or PostgreSQL's password into the file that "
    "PGPASSFILE names"
)


def warning(arguments: Sequence[str]) -> str | None:
    """One line for whoever wrote a password there; None if there is none."""
    return WARNING if any(holds_password(each) for each in arguments) else None


def holds_password(argument: str) -> bool:
    """Whether it is, or has in it, an address with a password."""
    return SHOWN.search(argument) is not None
