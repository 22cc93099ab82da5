"""Refusals in the words of the command line: its options and commands where Python has arguments and methods."""

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
    """A refusal of the library as an operator types what it asks for."""
    for python, option in WORDS:
        message = re.sub(python, option, message)
    return message
