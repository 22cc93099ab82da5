"""The address of a state store, as applications and operators write it."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from msgspec import Struct

from stepward.errors import SettingsError
from stepward.settings.readers import without_login

DEFAULT = "sqlite:///stepward.db"
SCHEME = "sqlite://"
POSTGRES = "postgresql://"
POSTGRES_FORMS = (POSTGRES, "postgres://")
"""Schemes of PostgreSQL addresses; hosting services hand out the short one."""
FORMS = "sqlite:///file.db (in this folder), sqlite:////folder/file.db or postgresql://user@host/database"
HIGHEST_PORT = 65535
ESCAPES = "in a password write : as %3A, @ as %40, / as %2F, ? as %3F and # as %23"
POOLERS = ("transaction",)
SCHEMA = re.compile(r"[^\W\d][\w-]*")
LONGEST_NAME = 63
"""Bytes of a name that PostgreSQL keeps; it cuts longer ones."""


class PostgresPlace(Struct, frozen=True):
    """What a ``postgresql://`` address names."""

    dsn: str
    """As the driver takes it, Stepward's own parameters taken out."""
    shown: str
    """For messages: without user and password."""
    schema: str | None = None
    """``?schema=``; None: the one that goes by the application's name."""
    pooled: bool = False
    """``?pooler=transaction``: statements of one connection may reach several servers' processes."""


def shown(address: str) -> str:
    """The address as messages may show it: without user, password and parameters."""
    return postgres_place(address).shown if is_postgres(address) else address


def shown_apart(address: str) -> str:
    """As ``shown``, with the schema if the address names one: stores in one database differ in nothing else."""
    schema = postgres_place(address).schema if is_postgres(address) else None
    return shown(address) if schema is None else f"{shown(address)}?schema={schema}"


def is_postgres(address: str) -> bool:
    """Whether the address names a PostgreSQL database."""
    return address.startswith(POSTGRES_FORMS)


def postgres_place(address: str) -> PostgresPlace:
    """What a ``postgresql://`` or ``postgres://`` address names: hosts, database, and the driver's own parameters.

    Raises SettingsError for a parameter of Stepward's that cannot be.
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise SettingsError(f"store address: expected {FORMS}, found another form: {error}; correct it") from None
    given = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in given if name in ("schema", "pooler")}
    shown = without_login(POSTGRES + address.partition("://")[2])
    if own.get("pooler", POOLERS[0]) not in POOLERS:
        raise SettingsError(f"store address: expected pooler=transaction, found {own['pooler']!r:.40}; correct it")
    if "schema" in own and not (SCHEMA.fullmatch(own["schema"]) and len(own["schema"].encode()) <= LONGEST_NAME):
        raise SettingsError(
            f"store address: expected a name after schema= of letters, digits, _ and -, at most {LONGEST_NAME} bytes, "
            f"found {repr(own['schema'])[:80] if own['schema'] else 'none'}; write one"
        )
    _check_ports(parts.netloc)
    _check_login(parts)
    rest = urlencode([(name, value) for name, value in given if name not in own])
    return PostgresPlace(
        parts._replace(scheme="postgresql", query=rest).geturl(), shown, own.get("schema"), "pooler" in own
    )


def _check_ports(netloc: str) -> None:
    for host in netloc.rpartition("@")[2].split(","):
        port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
        if port and not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= HIGHEST_PORT):
            raise SettingsError(
                f"store address: expected ports from 1 to {HIGHEST_PORT}, found {_port(port)}; correct it, and "
                f"{ESCAPES}"
            )


def _check_login(parts: SplitResult) -> None:
    behind = "@" in parts.path or "@" in parts.fragment
    if behind or ("@" not in parts.netloc and "@" in parts.query.partition("=")[0]):
        raise SettingsError(f"store address: expected {FORMS}, found an @ behind the host; {ESCAPES}")


def _port(port: str) -> str:
    # What is no number may be a part of a password.
    return port[:20] if port.isascii() and port.isdigit() else "something else"


def rotated(dsn: str, by: int) -> str:
    """The same address with so many of its hosts moved to the end: who is asked first is another."""
    parts = urlsplit(dsn)
    user, at, hosts = parts.netloc.rpartition("@")
    names = hosts.split(",")
    by %= len(names)
    return parts._replace(netloc=f"{user}{at}{','.join(names[by:] + names[:by])}").geturl()


def hosts_of(dsn: str) -> list[str]:
    """The same address for each of its hosts alone."""
    parts = urlsplit(dsn)
    user, at, hosts = parts.netloc.rpartition("@")
    return [parts._replace(netloc=f"{user}{at}{host}").geturl() for host in hosts.split(",")]


def sqlite_path(address: str) -> str:
    """The file that a ``sqlite:///`` address names, or the URI of an in-memory database (``sqlite:///file:/x?vfs=memdb``).

    Raises SettingsError for anything else.
    """
    if not address.startswith(SCHEME):
        scheme = address.partition("://")[0] if "://" in address else "no scheme"
        raise SettingsError(
            f"store address: expected {FORMS}, found {scheme} in {_shown(address)!r}; write {_meant(scheme)}"
        )
    host, slash, path = address.removeprefix(SCHEME).partition("/")
    if host or not slash:
        raise SettingsError(
            f"store address: expected {FORMS}, found {_shown(address)!r}; write three slashes before the path"
        )
    if not path or path.endswith("/") or "\0" in path or path == ":memory:":
        raise SettingsError(f"store address: expected {FORMS}, found no file name in {_shown(address)!r}; name a file")
    return path


def _meant(scheme: str) -> str:
    """The scheme that the writer of another one most likely means: SQLAlchemy names the driver too."""
    return POSTGRES if scheme.lower().startswith("postgres") else "sqlite:///"


def _shown(address: str) -> str:
    """The address without what stands before an ``@``: it may hold a password."""
    return address if address.startswith(SCHEME) and "@" not in address else without_login(address)
