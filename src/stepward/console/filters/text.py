"""Text of persons and services on a page: escaped, cut where it is long, control characters made visible."""

from __future__ import annotations

import json
from urllib.parse import quote

from markupsafe import Markup, escape

from stepward.payload import displayed
from stepward.store.contract import MOST_COUNTED
from stepward.views.printable import clean

LONGEST_PAYLOAD = 20_000
"""Most characters of a payload that a page shows; the API returns it whole."""


def printable(value: object) -> object:
    """The value of ``{{ }}``: text with control and invisible characters escaped."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else clean(value)


def lines(text: object) -> Markup:
    """Text of several lines, each printable."""
    return Markup("\n").join(escape(clean(line)) for line in str(text).splitlines())


def pretty(payload: bytes | None) -> str:
    """A payload as indented JSON, cut where it is long."""
    value = displayed(payload)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if len(text) <= LONGEST_PAYLOAD else f"{text[:LONGEST_PAYLOAD]}\n… ({len(text):,} characters)"


def brief(payload: bytes | None, most: int = 120) -> str:
    """A payload in one line."""
    text = json.dumps(displayed(payload), ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"


def middle(text: str, most: int = 44) -> str:
    """Text shortened in its middle, because ids differ at both ends."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def query(text: object) -> str:
    """A text, quoted for the query of an address."""
    return quote(str(text), safe="")


def count(number: int) -> str:
    """A count; a count that stopped at its bound is marked."""
    return f"{MOST_COUNTED:,}+" if number > MOST_COUNTED else f"{number:,}"


def plural(number: int, word: str, more: str = "") -> str:
    """A count with its noun."""
    return f"{count(number)} {word if number == 1 else more or word + 's'}"
