"""Connections without encryption: within this host always, to others only where their address says so."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

from stepward.errors import SettingsError

BROKER_OPTION, ALLOWED = "plaintext", "allowed"
PLAIN_SCHEMES = frozenset({"nats", "amqp", "amqp10"})
TLS_OPTIONS = frozenset({"ca", "certificate", "key"})
"""Options of a broker's address that make its connection an encrypted one."""
SSL_MODE = "sslmode"
SSL_MODE_VARIABLE = "PGSSLMODE"


def is_local(host: str) -> bool:
    """Whether what is sent to the host stays on this one: loopback, or the folder of a socket."""
    name = host.strip("[]").lower()
    if name in ("", "localhost") or name.startswith(("/", "%2f")):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_database(dsn: str) -> None:
    """Raises SettingsError for a PostgreSQL server elsewhere whose address does not say how it is encrypted."""
    parts = urlsplit(dsn)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    hosts = [*_hosts(parts.netloc), *options.get("host", "").split(",")]
    away = _first_away(hosts)
    if away is not None and SSL_MODE not in options and not os.environ.get(SSL_MODE_VARIABLE):
        raise SettingsError(
            f"store address: expected sslmode= for the host {away[:100]}, found none; add ?sslmode=verify-full "
            "(with &sslrootcert=FILE), or sslmode=disable where the network is trusted"
        )


def encrypted_broker(address: str) -> str:
    """A broker's address without its option ``plaintext``.

    Raises SettingsError for a broker elsewhere that is neither asked over TLS nor allowed to be asked without.
    """
    head, _, query = address.partition("?")
    options = [option for option in query.split("&") if option]
    names = {option.partition("=")[0] for option in options}
    is_plain = head.partition("://")[0] in PLAIN_SCHEMES and not names & TLS_OPTIONS
    away = _first_away(_hosts(head.partition("://")[2].partition("/")[0]))
    rest = [option for option in options if option.partition("=")[0] != BROKER_OPTION]
    if BROKER_OPTION in names and f"{BROKER_OPTION}={ALLOWED}" not in options:
        raise SettingsError(f"transport: expected {BROKER_OPTION}={ALLOWED} or none, found another value; correct it")
    if is_plain and away is not None and BROKER_OPTION not in names:
        raise SettingsError(
            f"transport: expected TLS to the host {away[:100]}, found none; write tls://, amqps:// or amqp10s://, "
            f"or add ?{BROKER_OPTION}={ALLOWED} where the network is trusted"
        )
    return f"{head}?{'&'.join(rest)}" if rest else head


def _hosts(netloc: str) -> list[str]:
    """The hosts of an address without login and ports."""
    return [_without_port(host) for host in netloc.rpartition("@")[2].split(",")]


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0]
    name, _, rest = host.partition(":")
    return host if ":" in rest else name  # An address of version 6 may stand without brackets.


def _first_away(hosts: Iterable[str]) -> str | None:
    return next((host for host in hosts if not is_local(host)), None)
