"""The RabbitMQ servers that an address names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from stepward.errors import SettingsError
from stepward.transport.broker.address_scheme import check_not_service_bus
from stepward.transport.broker.tls import TlsFiles, tls_files

EXAMPLE = "amqp://USER:PASSWORD@HOST:5672/VHOST or amqps://USER:PASSWORD@HOST1,HOST2/VHOST?ca=FILE"
PORTS = {"amqp": 5672, "amqps": 5671}


@dataclass(frozen=True, slots=True)
class RabbitAddress:
    """The servers of a cluster, each with an address of its own."""

    servers: Sequence[str]
    tls: TlsFiles | None
    """None for a connection that is not encrypted."""
    user: str
    """The login's name; empty where the address names none."""
    shown: str
    """The hosts only: the address may hold a password."""


def rabbit_address(address: str) -> RabbitAddress:
    """Read ``amqp://…`` or ``amqps://…``. Raises SettingsError."""
    try:
        parts = urlsplit(address)
        login, at, hosts = parts.netloc.rpartition("@")
        places = [urlsplit(f"//{host}") for host in hosts.split(",")]
        named = [(place.hostname, place.port or PORTS[parts.scheme]) for place in places]
    except (ValueError, KeyError):
        raise _refused("something else") from None
    if not all(host for host, _ in named) or "@" in address.partition("://")[2].partition("/")[2]:
        raise _refused("something else")
    if "@" in parts.query or "@" in parts.fragment:
        raise _refused("something else")
    check_not_service_bus(host for host, _ in named)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    tls = tls_files(options)
    if options:
        raise _refused(f"the option {next(iter(options))!r:.50}")
    if tls.is_named and parts.scheme != "amqps":
        raise _refused("files for TLS beside amqp://")
    # Without a password the certificate is the login.
    query = "?auth=external" if tls.certificate is not None and ":" not in login else ""
    netlocs = [f"{_bracketed(host)}:{port}" for host, port in named]
    servers = [f"{parts.scheme}://{login}{at}{netloc}{parts.path}{query}" for netloc in netlocs]
    user = unquote(login.partition(":")[0])
    return RabbitAddress(servers, tls if parts.scheme == "amqps" else None, user, ",".join(netlocs))


def _bracketed(host: str | None) -> str:
    return f"[{host}]" if host is not None and ":" in host else str(host)


def _refused(found: str) -> SettingsError:
    return SettingsError(f"transport: expected {EXAMPLE}, found {found}; change it")
