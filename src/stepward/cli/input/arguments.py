"""Values on the command line: JSON, instants, labels."""

from __future__ import annotations

import json
import re
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from stepward.cli.output.text_width import cut
from stepward.durations import Duration
from stepward.errors import InvalidDuration, InvalidPayload, Refused
from stepward.views.printable import clean

NOT_NUMBERS = re.compile(r"(?<![\w\"])[-+]?(NaN|Infinity)(?![\w\"])", re.IGNORECASE)
SHOWN = 40
TOKEN_CHARACTERS = 10_000


def json_value(text: str, what: str) -> Any:
    """The value of a JSON argument; raises InvalidPayload in a line that says how to write it."""
    try:
        return msgspec.json.decode(text.encode())
    except RecursionError:
        raise InvalidPayload(f"{what}: expected at most 100 nested levels, found more; flatten it") from None
    except UnicodeEncodeError:
        raise InvalidPayload(f"{what}: expected UTF-8, found other bytes; write it in UTF-8") from None
    except msgspec.DecodeError as error:
        raise InvalidPayload(
            f"{what}: expected JSON, found {cut(clean(text), SHOWN)}; {_advice(text, error)}"
        ) from None


def token(text: str) -> str:
    """A completion token: itself, ``-`` for a line of standard input, ``@PATH`` for a file that holds it.

    Every user of the host sees arguments, and shells keep them; a token works for everyone who has it.
    """
    if text == "-":
        return sys.stdin.readline(TOKEN_CHARACTERS).strip()
    if not text.startswith("@"):
        return text
    path = Path(text[1:])
    try:
        if not (path.is_file() or path.is_fifo()):
            raise OSError("no file")
        with path.open(encoding="ascii") as file:
            return file.readline(TOKEN_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError) as error:
        found = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(f"TOKEN: expected a readable file after @, found {found[:100]}; look at its path") from None


def instant_or_duration(text: str | None, what: str = "complete_by") -> datetime | Duration | None:
    """A complete-by, or ``what``: an instant (``2030-01-31T12:00:00Z``) or a duration from now (``15m``)."""
    if text is None or not re.match(r"\d{4}-", text):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidDuration(
            f"{what}: expected 15m or 2030-01-31T12:00:00Z, found {text!r}; write it in one of these forms"
        ) from None


def label(text: str) -> tuple[str, str]:
    """``NAME=VALUE``."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise Refused(f"--label: expected NAME=VALUE, found {text[:SHOWN]!r}; write for example customer=42")
    return name, value


def _advice(text: str, error: msgspec.DecodeError) -> str:
    if NOT_NUMBERS.search(text):
        return "JSON has no such number: send null or text"
    if text.startswith("--"):
        return "there is no such option"
    if not text.strip() or text.lstrip()[0] not in "[{\"'-0123456789":
        return f"text needs quotes within the shell's: {shlex.quote(json.dumps(text, ensure_ascii=False))}"
    return str(error)
