"""Where a state store is: the address that applications and operators write."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from stepward.errors import SettingsError

DEFAULT = "sqlite:///stepward.db"
SCHEME = "sqlite://"
POSTGRES = "postgresql://"
FORMS = "sqlite:///file.db (in this folder), sqlite:////folder/file.db or postgresql://user@host/database"
HIGHEST_PORT = 65535
POOLERS = ("transaction",)


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


def is_postgres(address: str) -> bool:
    """Whether the address names a PostgreSQL database."""
    return address.startswith(POSTGRES)


def postgres_place(address: str) -> PostgresPlace:
    """What a ``postgresql://`` address names: hosts, database and the driver's own parameters, passed on.

    Raises SettingsError for a parameter of Stepward's that cannot be.
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise SettingsError(f"store address: expected {FORMS}, found another form: {error}; correct it") from None
    given = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in given if name in ("schema", "pooler")}
    shown = f"{POSTGRES}{parts.netloc.rpartition('@')[2]}{parts.path}"
    if own.get("pooler", POOLERS[0]) not in POOLERS:
        raise SettingsError(f"store address: expected pooler=transaction, found {own['pooler']!r:.40}; correct it")
    if own.get("schema") == "":
        raise SettingsError("store address: expected a name after schema=, found none; write one")
    _check_ports(parts.netloc)
    rest = urlencode([(name, value) for name, value in given if name not in own])
    return PostgresPlace(parts._replace(query=rest).geturl(), shown, own.get("schema"), "pooler" in own)


def _check_ports(netloc: str) -> None:
    for host in netloc.rpartition("@")[2].split(","):
        port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
        if port and not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= HIGHEST_PORT):
            raise SettingsError(
                f"store address: expected ports from 1 to {HIGHEST_PORT}, found {port[:20]!r}; correct it, and in a "
                "password write : as %3A, @ as %40 and / as %2F"
            )


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
        raise SettingsError(f"store address: expected {FORMS}, found {scheme} in {_shown(address)!r}; write sqlite:///")
    host, slash, path = address.removeprefix(SCHEME).partition("/")
    if host or not slash:
        raise SettingsError(f"store address: expected {FORMS}, found {address!r}; write three slashes before the path")
    if not path or path.endswith("/") or "\0" in path or path == ":memory:":
        raise SettingsError(f"store address: expected {FORMS}, found no file name in {address!r}; name a file")
    return path


def _shown(address: str) -> str:
    """The address without what stands before an ``@``: it may hold a password."""
    scheme, separator, rest = address.partition("://")
    return f"{scheme}{separator}…@{rest.rpartition('@')[2]}" if "@" in rest else address
