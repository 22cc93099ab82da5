"""Names of an application's queues at a broker: the application's name after the prefix that the address gives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from stepward.errors import SettingsError

OPTION = "prefix="
SERVICE_BUS = ".servicebus.windows.net"
PREFIX = re.compile(r"[A-Za-z0-9_-]{1,50}")


class BrokerNames(Struct, frozen=True):
    """The prefixes of an application's names at a broker."""

    app: str
    prefix: str = ""

    @property
    def root(self) -> str:
        """Prefix of subjects at NATS, of queues and exchanges at RabbitMQ."""
        return f"{self.prefix}.stepward.{self.app}" if self.prefix else f"stepward.{self.app}"

    @property
    def stream(self) -> str:
        """Prefix of streams at NATS. Application names have no plus, so the streams of two applications differ."""
        return f"{self.prefix}+STEPWARD_{self.app}" if self.prefix else f"STEPWARD_{self.app}"

    @property
    def inbox(self) -> str:
        """Prefix of the subjects on which NATS answers."""
        return f"_INBOX.{self.prefix}+{self.app}" if self.prefix else f"_INBOX.{self.app}"


def names_at(address: str, app: str) -> tuple[str, BrokerNames]:
    """The broker's address without the option ``prefix``, and the names there. Raises SettingsError."""
    head, _, query = address.partition("?")
    options = query.split("&") if query else []
    prefixes = [option.removeprefix(OPTION) for option in options if option.startswith(OPTION)]
    if not prefixes:
        return address, BrokerNames(app)
    if len(prefixes) > 1 or not PREFIX.fullmatch(prefixes[0]):
        found = f"{'&'.join(prefixes)!r:.100}"
        raise SettingsError(f"transport: expected one prefix= of 1 to 50 of A-Z a-z 0-9 _ -, found {found}; change it")
    rest = "&".join(option for option in options if not option.startswith(OPTION))
    return f"{head}?{rest}" if rest else head, BrokerNames(app, prefixes[0])


def check_not_service_bus(hosts: Iterable[str | None]) -> None:
    """Raise SettingsError for a host of Azure Service Bus, which another scheme of addresses names."""
    found = next((host for host in hosts if host is not None and host.endswith(SERVICE_BUS)), None)
    if found is not None:
        raise SettingsError(
            f"transport: expected sb:// for the namespace {found[:100]} of Azure Service Bus, found another scheme; "
            f"write sb://POLICY:KEY@{found[:100]}, or sb://{found[:100]} for an identity of Microsoft Entra"
        )


def check_claim(broker: str, names: BrokerNames, store: str, owner: str, marker: str) -> None:
    """Raise SettingsError unless ``store`` owns the application's name according to ``marker``."""
    if owner != store:
        found = f"the store {owner!r:.60}"
        raise SettingsError(
            f"transport: expected the application {names.app!r} of the store {store!r} at {broker}, found {found}; "
            "give one of the two a prefix (?prefix=NAME in its address), or delete the "
            f"{marker} if that store is gone"
        )
