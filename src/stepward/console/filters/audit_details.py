"""The reason and the details of an act of the audit, each in one line."""

from __future__ import annotations

import json

from stepward.console.filters.text import brief, middle
from stepward.model.records import Audit
from stepward.payload import displayed
from stepward.views.times import clock

INSTANTS = frozenset({"at", "deadline", "ended_before", "expires_at", "omitted_before", "until"})
"""Details of an act that are instants."""


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
