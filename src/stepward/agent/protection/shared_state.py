"""The state that all instances of an Agent share, as one instance reads and changes it."""

from __future__ import annotations

from typing import Protocol


class SharedState(Protocol):
    """How all instances of an Agent stand; their host keeps it, for an Agent knows no store."""

    def opened(self, agent: str, seconds: float) -> None:
        """This instance's breaker opened: no instance may call the service for ``seconds``."""
        ...

    def closed(self, agent: str) -> None:
        """The probe of this instance found the service back."""
        ...

    async def may_probe(self, agent: str, seconds: float) -> bool:
        """Whether this instance, alone, may find out within so long whether the service is back."""
        ...


class OwnState:
    """The state of an Agent that has a single instance."""

    def opened(self, agent: str, seconds: float) -> None:
        """Does nothing: no other instance needs to know."""

    def closed(self, agent: str) -> None:
        """Does nothing: no other instance needs to know."""

    async def may_probe(self, agent: str, seconds: float) -> bool:
        return True
