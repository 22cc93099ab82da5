"""The NATS servers that an address names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from stepward.errors import SettingsError
from stepward.transport.broker.tls import TlsFiles, tls_files

EXAMPLE = "nats://HOST:4222 or nats://USER:PASSWORD@HOST1,HOST2,HOST3?replicas=3"
PORT = 4222
USER = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""A name that is valid within a subject."""
REPLICAS = frozenset({"1", "3", "5"})


@dataclass(frozen=True, slots=True)
class NatsAddress:
    """The servers of a cluster, and the number of copies of each message."""

    servers: Sequence[str]
    replicas: int
    shown: str
    """The hosts only: the address may hold a password."""
    tls: TlsFiles = field(default_factory=TlsFiles)
    credentials: str | None = None
    """The file of a user's JWT and NKey seed."""
    nkey: str | None = None
    """The file of an NKey seed."""
    user: str = ""
    """The login whose name is part of the inbox subject; empty for a token, which must not appear in subjects."""

    @property
    def speaks_tls(self) -> bool:
        """Whether the connection must be encrypted even if the server does not ask for it."""
        return self.tls.is_named or any(server.startswith("tls://") for server in self.servers)


def nats_address(address: str) -> NatsAddress:
    """Read ``nats://…`` or ``tls://…``. Raises SettingsError."""
    try:
        parts = urlsplit(address)
        login, at, hosts = parts.netloc.rpartition("@")
        places = [urlsplit(f"//{host}") for host in hosts.split(",")]
        named = [(place.hostname, place.port or PORT) for place in places]
    except ValueError:
        raise _refused("something else") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    replicas = options.pop("replicas", "1")
    tls = tls_files(options)
    credentials, nkey = options.pop("credentials", None), options.pop("nkey", None)
    if parts.scheme not in ("nats", "tls") or parts.path not in ("", "/") or not all(host for host, _ in named):
        raise _refused("something else")
    if options:
        raise _refused(f"the option {next(iter(options))!r:.50}")
    if replicas not in REPLICAS:
        raise _refused(f"replicas={replicas[:20]!r}, which is none of 1, 3 and 5")
    user, has_password, _ = login.partition(":")
    has_file = bool(credentials) or bool(nkey)
    if bool(has_password) + bool(credentials) + bool(nkey) > 1:
        raise _refused("more than one of a password, credentials=FILE and nkey=FILE")
    if has_file and login and not USER.fullmatch(user):
        raise _refused("a user of other than 1 to 100 characters of A-Z a-z 0-9 _ -")
    # With a credentials file, the user in the address only names the inbox. Without password or file it is a token.
    entry = "" if has_file else f"{login}{at}"
    named_user = user if USER.fullmatch(user) and (has_password or has_file) else ""
    servers = [f"{parts.scheme}://{entry}{_bracketed(host)}:{port}" for host, port in named]
    shown = ",".join(f"{_bracketed(host)}:{port}" for host, port in named)
    return NatsAddress(servers, int(replicas), shown, tls, credentials, nkey, named_user)


def _bracketed(host: str | None) -> str:
    return f"[{host}]" if host is not None and ":" in host else str(host)


def _refused(found: str) -> SettingsError:
    return SettingsError(f"transport: expected {EXAMPLE}, found {found}; change it")
