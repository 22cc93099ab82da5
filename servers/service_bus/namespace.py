"""A namespace of the double: its queues, and who may do what there."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import parse_qsl, quote_plus

from servers.service_bus.entities import Entity

ALL = frozenset({"Send", "Listen", "Manage"})
SAS_KIND, JWT_KIND = "servicebus.windows.net:sastoken", "jwt"


class Cut(Protocol):
    """A connection."""

    def cut(self) -> None:
        """End it as a fault would."""
        ...

    def work(self) -> None:
        """Deliver what can be delivered."""
        ...


class Namespace:
    """``policies`` has each policy's key and rights, ``identities`` the rights of each token of Microsoft Entra.

    ``made`` makes the queue of a name, or None for one that is missing.
    """

    def __init__(
        self,
        made: Callable[[str], Entity | None],
        *,
        policies: Mapping[str, tuple[str, frozenset[str]]],
        identities: Mapping[str, frozenset[str]],
    ) -> None:
        self.entities: dict[str, Entity] = {}
        self.peers: set[Cut] = set()
        self._made = made
        self._policies = policies
        self._identities = identities

    def entity(self, name: str) -> Entity | None:
        """The queue of that name."""
        if name not in self.entities:
            made = self._made(name)
            if made is None:
                return None
            made.changed = self._changed
            self.entities[name] = made
        return self.entities[name]

    def claims(self, kind: str, token: str, audience: str) -> frozenset[str] | None:
        """The rights that a token gives; None for one that is not accepted."""
        if kind == JWT_KIND:
            return self._identities.get(token)
        parts = dict(parse_qsl(token.removeprefix("SharedAccessSignature "), strict_parsing=True))
        key, rights = self._policies.get(parts["skn"], ("", ALL))
        signed = f"{quote_plus(parts['sr'])}\n{parts['se']}".encode()
        right = base64.b64encode(hmac.new(key.encode(), signed, hashlib.sha256).digest()).decode()
        is_valid = bool(key) and parts["sig"] == right and int(parts["se"]) > time.time()
        return rights if is_valid and audience.startswith(parts["sr"]) else None

    def _changed(self) -> None:
        for peer in tuple(self.peers):
            peer.work()
