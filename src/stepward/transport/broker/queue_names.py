"""Names of an application's queues at a broker: the application's name after the prefix that the address gives."""

from __future__ import annotations

import re

from msgspec import Struct

from stepward.errors import SettingsError

OPTION = "prefix="
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
