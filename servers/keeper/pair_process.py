"""The pair of servers as a process, for the shop, the demo and the tests."""

from __future__ import annotations

from collections.abc import Callable

from servers.keeper.pair_state import DATABASE, Standing
from servers.keeper.process import Upkeep
from servers.keeper.state_reports import TellingProcess
from servers.ports import free_port

USER = "postgres"


class PairProcess(TellingProcess[Standing]):
    """A primary and its synchronous standby, on free ports; `on_change` is called with their state at every change.

    Its process is never started again: another would begin with an empty database.
    """

    def __init__(self, *, upkeep: Upkeep, on_change: Callable[[Standing], None] = lambda _standing: None) -> None:
        self.ports = (free_port(), free_port())
        places = ("--ports", *map(str, self.ports))
        super().__init__(
            "postgres", "servers.keeper", "postgres", *places, kind=Standing, upkeep=upkeep, on_change=on_change
        )

    @property
    def address(self) -> str:
        """The address of the shop's database: both hosts, of which one is the primary."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"postgresql://{USER}@{hosts}/{DATABASE}"

    def is_whole(self, standing: Standing) -> bool:
        """Whether the primary has a standby."""
        return standing.standby is not None

    async def promoted(self, port: int) -> Standing:
        """Wait until another than the server on that port is the primary."""
        return await self.until(lambda standing: standing.primary.port != port)
