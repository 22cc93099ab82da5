"""The ports on which the example's processes listen."""

from __future__ import annotations

import socket
from dataclasses import asdict, dataclass
from typing import Self

HOST = "127.0.0.1"
HIGHEST = 65_535
SPAN = 106
"""From the storefront's port to the last service's, and one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """A port for each process that listens; 0 takes a free one."""

    storefront: int = 0
    control: int = 0
    stock: int = 0
    payment: int = 0
    parcel: int = 0
    mail: int = 0
    console: int = 0

    @classmethod
    def from_base(cls, base: int) -> Self:
        """The storefront's is `base`, the others follow a hundred above it; raises ValueError out of range."""
        if not 1 <= base <= HIGHEST - SPAN:
            raise ValueError(f"port base: expected 1 to {HIGHEST - SPAN}, found {base}")
        return cls(
            storefront=base,
            control=base + 100,
            stock=base + 101,
            payment=base + 102,
            parcel=base + 103,
            mail=base + 104,
            console=base + 105,
        )

    def taken(self) -> dict[str, int]:
        """The ports on which another program already listens."""
        return {name: port for name, port in asdict(self).items() if _is_taken(port)}


def ports_of(text: str) -> Ports:
    """What PORT_BASE=… says; raises ValueError, in words."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(
            f"port base: expected 1 to {HIGHEST - SPAN}, found {text[:40]!r}; say PORT_BASE=9000, or nothing"
        )
    return Ports.from_base(int(text))


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a connection that is just closing is not a listener.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False
