"""Error messages in the words of the command line: options and commands in place of Python's arguments and methods."""

from __future__ import annotations

import re

WORDS = (
    (r"\bdoubt=undo\b", "--undo-first"),
    (r"\bdoubt=did_not_happen\b|\bdid_not_happen\b", "--did-not-happen"),
    (r"\blater=(undo|keep)\b", r"--later \1"),
    (r"\bcomplete_by=…", "--complete-by D"),
    (r"\bstep=…", "--step KEY"),
    (r"\bwith mark_done\b", "with `stepward mark-done`"),
    (r"^mark_done of\b", "mark-done of"),
)


def in_options(message: str) -> str:
    """An error message of the library, in the terms in which an operator types."""
    for python, option in WORDS:
        message = re.sub(python, option, message)
    return message
