"""The brokers that an address names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from stepward.clock import Clock
from stepward.errors import SettingsError
from stepward.transport.amqp10.service_bus.tokens import TokenSource
from stepward.transport.broker.address_scheme import check_not_service_bus
from stepward.transport.broker.tls import TlsFiles, tls_files

EXAMPLE = "amqp10://USER:PASSWORD@HOST:5672/VHOST or amqp10s://USER:PASSWORD@HOST1,HOST2?ca=FILE"
PORTS = {"amqp10": 5672, "amqp10s": 5671}


@dataclass(frozen=True, slots=True)
class AmqpAddress:
    """Servers that share their queues, and the login there."""

    servers: Sequence[tuple[str, int]]
    tls: TlsFiles | None
    """None for a connection that is not encrypted."""
    user: str
    """Empty where the address names none."""
    password: str
    vhost: str
    """Of RabbitMQ; empty for the default one, and at other brokers."""
    shown: str
    """The hosts only: the address may hold a password."""
    tokens: Callable[[Clock], TokenSource] | None = None
    """Makes the source of tokens, for Azure Service Bus."""


def amqp_address(address: str) -> AmqpAddress:
    """Read ``amqp10://…`` or ``amqp10s://…``. Raises SettingsError."""
    try:
        parts = urlsplit(address)
        login, _, hosts = parts.netloc.rpartition("@")
        places = [urlsplit(f"//{host}") for host in hosts.split(",")]
        servers = [(place.hostname or "", place.port or PORTS[parts.scheme]) for place in places]
    except (ValueError, KeyError):
        raise _refused("something else") from None
    if not all(host for host, _ in servers) or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise _refused("something else")
    check_not_service_bus(host for host, _ in servers)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    tls = tls_files(options)
    if options:
        raise _refused(f"the option {next(iter(options))!r:.50}")
    if tls.is_named and parts.scheme != "amqp10s":
        raise _refused("files for TLS beside amqp10://")
    user, _, password = login.partition(":")
    shown = ",".join(f"{_bracketed(host)}:{port}" for host, port in servers)
    encrypted = tls if parts.scheme == "amqp10s" else None
    return AmqpAddress(servers, encrypted, unquote(user), unquote(password), unquote(parts.path[1:]), shown)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _refused(found: str) -> SettingsError:
    return SettingsError(f"transport: expected {EXAMPLE}, found {found}; change it")
