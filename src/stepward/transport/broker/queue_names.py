"""Names of an application's queues at a broker: the application's name after the prefix that the address gives."""

from __future__ import annotations

import re

from msgspec import Struct

from stepward.errors import SettingsError

OPTION = "prefix="
PREFIX = re.compile(r"[A-Za-z0-9_-]{1,50}")


def partition_app(app: str, partition: str) -> str:
    """The name at a broker of one partition of an application, for its queues between Schedulers and Agents.

    Names of applications have no dot.
    """
    return f"{app}.{partition}"


def own_queue(queue: str, partition: str) -> str:
    """One partition's part of a submission queue: ``submissions.shop.p2.orders`` of ``submissions.shop.orders``."""
    kind, app, name = queue.split(".", 2)
    return f"{kind}.{app}.{partition}.{name}"


class BrokerNames(Struct, frozen=True):
    """The prefixes of the names of an application, or of one of its partitions, at a broker."""

    app: str
    prefix: str = ""

    @property
    def whole(self) -> BrokerNames:
        """The names of the application to which this partition belongs."""
        return BrokerNames(self.app.partition(".")[0], self.prefix)

    @property
    def root(self) -> str:
        """Prefix of subjects at NATS, of queues and exchanges at RabbitMQ."""
        return f"{self.prefix}.stepward.{self.app}" if self.prefix else f"stepward.{self.app}"

    @property
    def stream(self) -> str:
        """Prefix of streams at NATS, whose names have no dots.

        Application names have no plus, so the streams of two applications differ.
        """
        return f"{self.prefix}+STEPWARD_{self._undotted}" if self.prefix else f"STEPWARD_{self._undotted}"

    @property
    def inbox(self) -> str:
        """Prefix of the subjects on which NATS answers."""
        return f"_INBOX.{self.prefix}+{self._undotted}" if self.prefix else f"_INBOX.{self._undotted}"

    @property
    def _undotted(self) -> str:
        return self.app.replace(".", "+")


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
