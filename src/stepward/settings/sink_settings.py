"""The sinks that settings declare: where alerts go, and which of them each sink gets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlsplit

from stepward.durations import shown
from stepward.errors import SettingsError
from stepward.settings import readers

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
PATTERN = re.compile(r"[^\x00-\x20]{1,200}")
MOST_SINKS = 20
MOST_PATTERNS = 100
E = TypeVar("E", bound=StrEnum)
REFERENCES = ("url", "secret", "previous_secret")
"""Keys whose value may be ``env:NAME`` or ``file:PATH``."""


class Severity(StrEnum):
    """How urgent an alert is, the least urgent first."""

    INFO = "info"
    WARNING = "warning"
    """Something will fail unless an operator acts."""
    ERROR = "error"
    """Work stands still."""
    CRITICAL = "critical"
    """Effects outside may be wrong, or everything stands still."""

    @property
    def rank(self) -> int:
        """Its place, the least urgent is 0."""
        return list(Severity).index(self)


class SinkType(StrEnum):
    """What a sink delivers to."""

    LOG = "log"
    WEBHOOK = "webhook"
    QUEUE = "queue"
    APPRISE = "apprise"


NEEDED: Mapping[SinkType, tuple[str, ...]] = {
    SinkType.LOG: (),
    SinkType.WEBHOOK: ("url", "secret"),
    SinkType.QUEUE: ("queue",),
    SinkType.APPRISE: ("url",),
}
"""By type, the keys that must be given."""
OPTIONAL = ("severity", "workflows")
"""Keys of every type; a webhook may have ``private_hosts`` too."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SinkSettings:
    """One sink: its name, its type, what the type needs, and the alerts that it gets."""

    name: str
    type: SinkType
    url: str | None = None
    secret: str | None = None
    queue: str | None = None
    private_hosts: tuple[str, ...] = ()
    severity: Severity = Severity.INFO
    """The least severity of its alerts."""
    workflows: tuple[str, ...] | None = None
    """Names of workflows, in which ``*`` stands for any characters, whose alerts alone it gets. None: all alerts."""

    def __repr__(self) -> str:
        where = f" {_shown_url(self.url)}" if self.url else f" {self.queue}" if self.queue else ""
        least = "" if self.severity is Severity.INFO else f", {self.severity} and above"
        of = "" if self.workflows is None else f", of {', '.join(self.workflows)}"
        return f"{self.name} ({self.type}{where}{least}{of})"


def read_sinks(value: object, what: str) -> tuple[SinkSettings, ...] | None:
    """The sinks of a table ``{name: {"type": …}}``, or of its JSON. Raises SettingsError."""
    if value is None:
        return None
    if isinstance(value, tuple) and all(isinstance(each, SinkSettings) for each in value):
        return value
    table = named_tables(value, what, "sinks")
    if len(table) > MOST_SINKS:
        raise SettingsError(f"{what}: expected at most {MOST_SINKS} sinks, found {len(table)}; remove some")
    return tuple(_sink(name, given, f"{what}: sink {shown(name)}") for name, given in table.items())


def resolved_tables(value: object, what: str, kind: str, refer: Callable[[str], str]) -> object:
    """The table of sinks or hooks, with ``refer`` applied to each URL and secret."""
    if not isinstance(value, str | dict):
        return value
    return {
        name: {key: refer(each) if key in REFERENCES and isinstance(each, str) else each for key, each in given.items()}
        if isinstance(given, dict)
        else given
        for name, given in named_tables(value, what, kind).items()
    }


def show_sinks(sinks: tuple[SinkSettings, ...] | None) -> str:
    """The sinks without their secrets."""
    return "; ".join(map(repr, sinks or ())) or "none"


def named_tables(value: object, what: str, kind: str) -> Mapping[str, Any]:
    """Tables by their names, or their JSON, read; ``kind`` says of what. Raises SettingsError."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        # The value may hold secrets, so it is not repeated.
        raise SettingsError(f"{what}: expected a table of {kind} by their names, found something else; change it")
    return value


def _sink(name: str, given: object, what: str) -> SinkSettings:
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"{what}: expected a name of 1 to 40 of a-z 0-9 _ - that begins with a letter, found another; rename it"
        )
    if not isinstance(given, Mapping):
        raise SettingsError(f"{what}: expected a table with a type, found something else; write a table")
    type_ = _one_of(SinkType, given.get("type"), f"{what}: type")
    _check_keys(given, type_, what)
    return SinkSettings(
        name=name,
        type=type_,
        url=_url(given.get("url"), type_, f"{what}: url"),
        secret=readers.secret(given.get("secret"), f"{what}: secret"),
        queue=_queue(given.get("queue"), f"{what}: queue"),
        private_hosts=readers.hosts(given.get("private_hosts"), f"{what}: private_hosts") or (),
        severity=_one_of(Severity, given.get("severity", Severity.INFO), f"{what}: severity"),
        workflows=_patterns(given.get("workflows"), f"{what}: workflows"),
    )


def _one_of(known: type[E], value: object, what: str) -> E:
    return known(str(readers.one_of(*known)(value, what)))


def _check_keys(given: Mapping[str, object], type_: SinkType, what: str) -> None:
    known = ("type", *NEEDED[type_], *OPTIONAL, *(("private_hosts",) if type_ is SinkType.WEBHOOK else ()))
    for key in given:
        if key not in known:
            raise SettingsError(f"{what}: expected {', '.join(known)}, found {shown(key)}; remove it")
    for key in NEEDED[type_]:
        if given.get(key) is None:
            raise SettingsError(f"{what}: expected {key} for a sink of type {type_}, found none; give it")


def _url(value: object, type_: SinkType, what: str) -> str | None:
    if type_ is SinkType.WEBHOOK:
        return readers.webhook_url(value, what)
    return readers.secret(value, what)


def _queue(value: object, what: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not QUEUE.fullmatch(value):
        raise SettingsError(f"{what}: expected the name of a response queue, found {shown(value)}; change it")
    return value


def _patterns(value: object, what: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    found = tuple(value) if isinstance(value, list | tuple) else ()
    if not 1 <= len(found) <= MOST_PATTERNS or not all(isinstance(e, str) and PATTERN.fullmatch(e) for e in found):
        raise SettingsError(f'{what}: expected a list such as ["fulfil", "pay*"], found {shown(value)}; change it')
    return found


def _shown_url(url: str) -> str:
    # Path, login and query of a receiver's URL are often its secret.
    try:
        parts = urlsplit(url)
        return (
            f"{parts.scheme}://{parts.hostname or ''}/…" if parts.scheme in ("http", "https") else f"{parts.scheme}://…"
        )
    except ValueError:
        return "…"
