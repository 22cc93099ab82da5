"""The namespace of Azure Service Bus that an address names, and who asks there."""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qsl, unquote, urlsplit

from stepward.clock import Clock
from stepward.errors import SettingsError
from stepward.settings.plaintext_connections import is_local
from stepward.transport.amqp10.address import AmqpAddress
from stepward.transport.amqp10.service_bus.tokens import EntraIdentity, SasKey, TokenSource
from stepward.transport.broker.address_scheme import SERVICE_BUS
from stepward.transport.broker.tls import tls_files

EXAMPLE = "sb://POLICY:KEY@NAMESPACE.servicebus.windows.net, or sb://NAMESPACE for an identity of Microsoft Entra"
TLS_PORT, EMULATOR_PORT = 5671, 5672


def namespace_address(address: str) -> AmqpAddress:
    """Read ``sb://…``; an emulator of this host is asked without TLS. Raises SettingsError."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refused("something else") from None
    if not host or parts.path not in ("", "/"):
        raise _refused("something else")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    tls = tls_files(options)
    if options:
        raise _refused(f"the option {next(iter(options))!r:.50}")
    if bool(parts.username) != bool(parts.password):
        raise _refused("a policy without its key, or a key without its policy")
    tokens = partial(_tokens, unquote(parts.username or ""), unquote(parts.password or ""))
    if is_local(host):
        shown = f"{host}:{port or EMULATOR_PORT}"
        return AmqpAddress([(host, port or EMULATOR_PORT)], None, "", "", "", shown, tokens)
    full = host if "." in host else f"{host}{SERVICE_BUS}"
    return AmqpAddress([(full, port or TLS_PORT)], tls, "", "", "", full, tokens)


def _tokens(policy: str, key: str, clock: Clock) -> TokenSource:
    return SasKey(policy, key, clock) if policy else EntraIdentity()


def _refused(found: str) -> SettingsError:
    return SettingsError(f"transport: expected {EXAMPLE}, found {found}; change it")
