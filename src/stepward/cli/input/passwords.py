"""Passwords on a command line: every user of the host can read them there."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHOWN = re.compile(r"\w://[^/@]*:[^@]+@|\w://.*[?&]password=.")
"""An address with a user and a password, or with a password among its parameters."""
WARNING = (
    "stepward: expected no password on the command line, where ps shows it to every user of this host, found one; put "
    "the address into STEPWARD_STORE, STEPWARD_TRANSPORT or stepward.toml, or PostgreSQL's password into the file that "
    "PGPASSFILE names"
)


def warning(arguments: Sequence[str]) -> str | None:
    """A warning for a password on the command line; None if there is none."""
    return WARNING if any(holds_password(each) for each in arguments) else None


def holds_password(argument: str) -> bool:
    """Whether it is or contains an address with a password."""
    return SHOWN.search(argument) is not None
