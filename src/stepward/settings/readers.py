"""Readers of settings: each turns a written value into the stored one or raises one clear line.

A reader is given the value and the words that name it and its source; each is idempotent.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from stepward import durations
from stepward.errors import InvalidDuration, SettingsError

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
KIB, MIB, GIB = 1024, 1024**2, 1024**3
WHOLE = re.compile(r"[0-9]{1,15}|[0-9]{1,3}(_[0-9]{3}){1,4}")
SIZE = re.compile(r"([0-9]{1,15}) ?(B|KiB|MiB|GiB)?")
SIZES = {None: 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
HOST = re.compile(r"[A-Za-z0-9_.:-]{1,253}")
LISTEN = re.compile(r"(?:(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):)?(?P<port>[0-9]{1,5})")
YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
STORE = re.compile(r"(sqlite:///|postgres(ql)?://)[^\x00-\x1f]+")
BROKER = re.compile(r"(nats|tls|amqp|amqps|amqp10|amqp10s|sb)://[^\x00-\x20]+")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

RULE = re.compile(
    r"(?P<workflow>\*|[^/=,*\s]{1,200})(?:/(?P<state>processed|undone|cancelled))? *= *(?P<age>[^=,]{1,40})"
)
MOST_RULES = 50

Reader = Callable[[object, str], object]
SECRET_BYTES = 8192
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""Permissions of all but a file's owner."""


class RetentionRule(NamedTuple):
    """How long ended tasks of a workflow, in a state, are kept; None: of any."""

    workflow: str | None
    state: str | None
    age: float | None
    """Seconds; None: for ever."""

    def __str__(self) -> str:
        state = "" if self.state is None else f"/{self.state}"
        return f"{self.workflow or '*'}{state}={'never' if self.age is None else durations.text(self.age)}"


def _refused(what: str, expected: str, value: object) -> SettingsError:
    return SettingsError(f"{what}: expected {expected}, found {durations.shown(value)}; change it")


def duration(lowest: float, highest: float, *, never: bool = False) -> Reader:
    """Any form of a duration, as seconds; ``never`` allows that word, as None."""

    def read(value: object, what: str) -> float | None:
        if never and (value is None or value == "never"):
            return None
        try:
            amount = durations.seconds(value, what, zero=True)  # type: ignore[arg-type]  # raises for everything else
        except InvalidDuration as error:
            raise SettingsError(str(error)) from None
        if not lowest <= amount <= highest:
            span = f"{durations.text(lowest)} to {durations.text(highest)}" + (" or 'never'" if never else "")
            raise _refused(what, span, value)
        return amount

    return read


def _whole(lowest: int, highest: int, read_text: Callable[[str], int | None]) -> Reader:
    def read(value: object, what: str) -> int:
        number = read_text(value.strip()) if isinstance(value, str) else value
        if not isinstance(number, int) or isinstance(number, bool) or not lowest <= number <= highest:
            raise _refused(what, f"{lowest:,} to {highest:,}", value)
        return number

    return read


def count(lowest: int, highest: int) -> Reader:
    """A whole number."""
    return _whole(lowest, highest, lambda text: int(text) if WHOLE.fullmatch(text) else None)


def size(lowest: int, highest: int) -> Reader:
    """Bytes, plain or as ``64MiB``."""

    def read_text(text: str) -> int | None:
        match = SIZE.fullmatch(text)
        return int(match[1]) * SIZES[match[2]] if match else None

    return _whole(lowest, highest, read_text)


def flag(value: object, what: str) -> bool:
    """True or false, yes or no, on or off, 1 or 0."""
    text = str(value).lower()
    if not isinstance(value, bool | str) or text not in YES | NO:
        raise _refused(what, "true or false", value)
    return text in YES


def store(value: object, what: str) -> str:
    """The URL of the state store."""
    if not isinstance(value, str) or not STORE.fullmatch(value):
        raise SettingsError(
            f"{what}: expected sqlite:///PATH or postgresql://USER@HOST/DATABASE, found {_scheme(value)}; "
            "give the store as such a URL"
        )
    return value


def transport(value: object, what: str) -> str:
    """The name of a transport, or the URL of a broker."""
    if value not in ("local", "store") and not (isinstance(value, str) and BROKER.fullmatch(value)):
        raise SettingsError(
            f"{what}: expected local, store, nats://HOST, amqp://HOST, amqp10://HOST or sb://NAMESPACE, "
            f"found {_scheme(value)}; choose one of these"
        )
    return str(value)


def without_login(address: str) -> str:
    """The address as messages may show it: without user, password and parameters.

    Where a password holds unescaped special characters its end is uncertain; then only the scheme is shown.
    """
    scheme, separator, rest = address.partition("://")
    head = re.split("[?#]", rest, maxsplit=1)[0]
    if not separator:
        return "…" if "@" in address else address
    return f"{scheme}://…" if "@" in rest[len(head) :] else f"{scheme}://{head.rpartition('@')[2]}"


def _scheme(value: object) -> str:
    # The value may hold a password, so the message shows only its scheme.
    scheme, separator, _ = value.partition("://") if isinstance(value, str) else ("", "", "")
    return f"{scheme[:20]}://…" if separator else "something else"


def folder(value: object, what: str) -> str | None:
    """The path of a folder; whether it can be written shows at the first write."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise _refused(what, "the path of a folder", value)
    return value


def listen_address(value: object, what: str) -> str | None:
    """An address to listen on: ``HOST:PORT``, or a port of 127.0.0.1."""
    if value is None:
        return None
    match = LISTEN.fullmatch(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if match is None or int(match["port"]) > 65_535:
        raise _refused(what, "a port, HOST:PORT or [ADDRESS]:PORT", value)
    return f"{match['host'] or '127.0.0.1'}:{int(match['port'])}"


def one_of(*known: str) -> Reader:
    """One of these words."""

    def read(value: object, what: str) -> str:
        if value not in known:
            raise _refused(what, " or ".join(known), value)
        return str(value)

    return read


def log_level(value: object, what: str) -> str:
    """The name of a logging level, in any case."""
    level = value.upper() if isinstance(value, str) else ""
    if level not in LEVELS:
        raise _refused(what, f"one of {', '.join(LEVELS)}", value)
    return level


def webhook_url(value: object, what: str) -> str | None:
    """A URL; the webhook itself checks more (plain http to other hosts, metadata addresses)."""
    if value is None:
        return None
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        usable = parts.scheme in ("https", "http") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"{what}: expected https://HOST/PATH, found something else; give the receiver's URL")
    return str(value)


def page_url(value: object, what: str) -> str | None:
    """The address of a site: ``https://HOST/PATH`` without a query; a slash at the end is dropped."""
    if value is None:
        return None
    text = value if isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value else ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("https", "http") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise SettingsError(f"{what}: expected https://HOST or https://HOST/PATH, found something else; change it")
    return text.rstrip("/")


def collector_url(value: object, what: str) -> str | None:
    """The URL of an OpenTelemetry collector; without a path it is that of traces."""
    if value is None:
        return None
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        usable = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
        usable &= not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(
            f"{what}: expected http://HOST:PORT or https://HOST:PORT of an OpenTelemetry collector, found something "
            "else; give its URL, and credentials in OTEL_EXPORTER_OTLP_HEADERS"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1/traces'}"


def hosts(value: object, what: str) -> tuple[str, ...] | None:
    """Host names or addresses, separated by commas."""
    if value is None:
        return None
    parts = [part.strip().lower() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) and HOST.fullmatch(part) for part in parts):
        raise _refused(what, "hosts such as alerts.internal, 10.0.0.7", value)
    return tuple(part.lower() for part in parts)


def retention_rules(value: object, what: str) -> tuple[RetentionRule, ...] | None:
    """``WORKFLOW=AGE``, ``WORKFLOW/STATE=AGE`` or ``*/STATE=AGE``, separated by commas."""
    if value is None:
        return None
    parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) > MOST_RULES:
        raise _refused(what, f"at most {MOST_RULES} rules such as fulfil=7d, */cancelled=1d", value)
    found = tuple(part if isinstance(part, RetentionRule) else _retention_rule(part, what) for part in parts)
    if len({(rule.workflow, rule.state) for rule in found}) < len(found):
        raise _refused(what, "one rule for each workflow and state", value)
    return found


def _retention_rule(part: object, what: str) -> RetentionRule:
    rule = RULE.fullmatch(part.strip()) if isinstance(part, str) else None
    if rule is None or (rule["workflow"] == "*" and rule["state"] is None):
        raise _refused(what, "rules such as fulfil=7d, fulfil/cancelled=1d, */undone=90d, other=never", part)
    workflow = None if rule["workflow"] == "*" else rule["workflow"]
    age = duration(1, 3650 * DAY, never=True)(rule["age"].strip(), what)
    return RetentionRule(workflow, rule["state"], age if isinstance(age, float) else None)


def secret(value: object, what: str) -> str | None:
    """A secret; never shown."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{what}: expected a secret, file:PATH or env:NAME, found nothing; give one of these")
    return value


def regular_file(path: Path, most: int) -> str:
    """The text of a regular file of at most ``most`` bytes; never blocks on a pipe. Raises OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("a pipe or a device")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"more than {most:,} bytes")
    return data.decode()


def secret_file(path: Path, what: str, *, private: bool) -> str:
    """The text of a file; with ``private``, one that only its owner can read or write."""
    try:
        text = regular_file(path, SECRET_BYTES).strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{what}: expected a readable file at {path}, found: {error}; repair it") from None
    if private and mode & OTHERS:
        raise SettingsError(
            f"{what}: expected a file that only its owner can use at {path}, found mode {mode:04o}; run chmod 600"
        )
    return text
