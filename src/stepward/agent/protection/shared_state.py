"""What an Agent instance asks and tells of all instances of its Agent together."""

from __future__ import annotations

from typing import Protocol


class SharedState(Protocol):
    """How all instances of an Agent stand; whoever hosts them keeps it, an Agent knows no store."""

    def opened(self, agent: str, seconds: float) -> None:
        """This instance's breaker opened: for so long nobody is to call the service."""
        ...

    def closed(self, agent: str) -> None:
        """The probe of this instance found the service back."""
        ...

    async def may_probe(self, agent: str, seconds: float) -> bool:
        """Whether this instance, alone, may find out within so long whether the service is back."""
        ...


class OwnState:
    """The standing of an Agent that has one instance and nobody to tell."""

    def opened(self, agent: str, seconds: float) -> None:
        """Does nothing: no other instance needs to know."""

    def closed(self, agent: str) -> None:
        """Does nothing: no other instance needs to know."""

    async def may_probe(self, agent: str, seconds: float) -> bool:
        return True
