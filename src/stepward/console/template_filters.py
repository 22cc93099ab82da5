"""Template filters: they escape text of persons and services, and make hidden characters visible."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from stepward import durations
from stepward.model.console_links import task_href
from stepward.model.records import Audit
from stepward.payload import displayed
from stepward.store.contract import MOST_COUNTED
from stepward.views.actions.acts import NAMES
from stepward.views.agents import percent
from stepward.views.alerts import message_of
from stepward.views.printable import clean
from stepward.views.schedules import nominal
from stepward.views.state_symbols import LOOKS, Look, Tone
from stepward.views.times import NOTHING, clock, instant, relative, took
from stepward.views.times import span as span_of

LONGEST_PAYLOAD = 20_000
"""Most characters of a payload that a page shows; the API returns it whole."""
INSTANTS = frozenset({"at", "deadline", "ended_before", "expires_at", "omitted_before", "until"})
"""Details of an act that are instants."""
UNKNOWN = Look("?", Tone.QUIET)


def printable(value: object) -> object:
    """The value of ``{{ }}``: text with control and invisible characters escaped."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else clean(value)


def lines(text: object) -> Markup:
    """Text of several lines, each printable."""
    return Markup("\n").join(escape(clean(line)) for line in str(text).splitlines())


def state(word: str, note: str = "") -> Markup:
    """A state as its sign, word and tone."""
    look = LOOKS.get(word, UNKNOWN)
    text = word.replace("_", " ") + note
    return Markup('<span class="state t-{}"><span class="sign" aria-hidden="true">{}</span> {}</span>').format(
        look.tone, look.sign, text
    )


def ago(at: float | None, now: float, focus: bool = False) -> Markup:
    """The distance of an instant from now; the instant itself on hover, and on keyboard focus with ``focus``."""
    if at is None:
        return Markup('<span class="none">{}</span>').format(NOTHING)
    tab = Markup(' tabindex="0"') if focus else ""
    return Markup('<time datetime="{}" data-at="{:.3f}" data-exact="{}"{}>{}</time>').format(
        instant(at), at, clock(at), tab, relative(at, now)
    )


def since(at: float | None, now: float) -> Markup:
    """As ``ago``, as a span alone: what has lasted since that instant."""
    if at is None:
        return ago(at, now)
    return Markup('<time datetime="{}" data-since="{:.3f}" data-exact="{}">{}</time>').format(
        instant(at), at, f"since {clock(at)}", span_of(now - at)
    )


def lasted(start: float | None, end: float | None, now: float) -> str:
    """The duration from start to end, or so far."""
    return took(start, end, now)


def count(number: int) -> str:
    """A count; a count that stopped at its bound is marked."""
    return f"{MOST_COUNTED:,}+" if number > MOST_COUNTED else f"{number:,}"


def plural(number: int, word: str, more: str = "") -> str:
    """A count with its noun."""
    return f"{count(number)} {word if number == 1 else more or word + 's'}"


def span(seconds: float) -> str:
    """A duration."""
    return durations.text(seconds)


def pretty(payload: bytes | None) -> str:
    """A payload as indented JSON, cut where it is long."""
    value = displayed(payload)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if len(text) <= LONGEST_PAYLOAD else f"{text[:LONGEST_PAYLOAD]}\n… ({len(text):,} characters)"


def brief(payload: bytes | None, most: int = 120) -> str:
    """A payload in one line."""
    text = json.dumps(displayed(payload), ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"


def reason_of(audit: Audit) -> str:
    """The reason that was given with an act; empty where there is none, or it is hidden."""
    details = displayed(audit.details)
    found = details.get("reason") if isinstance(details, dict) else None
    return found if isinstance(found, str) else ""


def details_of(audit: Audit, most: int = 160) -> str:
    """The details of an act in one line, without the reason, which is shown by itself, and the instant of a preview."""
    details = displayed(audit.details)
    if not isinstance(details, dict):
        return brief(audit.details, most)
    shown = [
        f"{name.replace('_', ' ')} {_detail(name, value)}"
        for name, value in details.items()
        if name not in ("reason", "as_of")
    ]
    text = ", ".join(shown)
    return text if len(text) <= most else f"{text[:most]}…"


def _detail(name: str, value: object) -> str:
    if isinstance(value, float) and name in INSTANTS:
        return clock(value)
    return middle(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def query(text: object) -> str:
    """A text, quoted for the query of an address."""
    return quote(str(text), safe="")


def middle(text: str, most: int = 44) -> str:
    """Text shortened in its middle, because ids differ at both ends."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def clock_minute(at: float) -> str:
    """The minute of an instant, in UTC."""
    return clock(at)[11:16]


def act_name(verb: str) -> str:
    """The label of an act's button."""
    return NAMES[verb]


def tone_of(word: str) -> str:
    """The tone of a state."""
    return str(LOOKS.get(word, UNKNOWN).tone)


def symbol_of(word: str) -> str:
    """The sign of a state."""
    return LOOKS.get(word, UNKNOWN).sign


FILTERS: dict[str, Any] = {
    "act_name": act_name,
    "ago": ago,
    "brief": brief,
    "clock": clock,
    "clock_minute": clock_minute,
    "count": count,
    "details_of": details_of,
    "lasted": lasted,
    "lines": lines,
    "message_of": message_of,
    "middle": middle,
    "nominal": nominal,
    "percent": percent,
    "plural": plural,
    "pretty": pretty,
    "query": query,
    "reason_of": reason_of,
    "sign": symbol_of,
    "since": since,
    "span": span,
    "state": state,
    "task_href": task_href,
    "tone": tone_of,
}
