"""The number of processes of each kind, and which Agents share one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from servers.keeper.transports import TransportKind

WORKER = "examples.shop.worker"
NODE = "examples.shop.node"

Agents = Sequence[str]
TOGETHER: Sequence[Agents] = (("stock", "parcel"), ("payment", "mail"))
APART: Sequence[Agents] = (("parcel",), ("stock",), ("payment",), ("payment",), ("mail",))
FOR_NODE: Agents = ("mail",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A process: what it is called, and what it runs."""

    name: str
    arguments: Sequence[str] = ()
    module: str = WORKER


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The processes that work on orders; no Agent processes if the Schedulers' processes serve the Agents."""

    schedulers: int
    supervisors: int
    agents: Sequence[Agents]
    has_node: bool = False
    """Whether the mail Agent is the one that is written for Node."""

    @property
    def has_agents_apart(self) -> bool:
        """Whether Agents are in processes of their own."""
        return bool(self.agents)

    @property
    def scheduler_names(self) -> list[str]:
        """What the Schedulers are called."""
        return [f"scheduler-{number}" for number in range(1, self.schedulers + 1)]

    @property
    def supervisor_names(self) -> list[str]:
        """What the Supervisors are called."""
        return [f"supervisor-{number}" for number in range(1, self.supervisors + 1)]

    def members(self) -> Iterator[Member]:
        """Each of them, numbered."""
        yield Member(name="submission-1", arguments=["submission"])
        role = "scheduler" if self.has_agents_apart else "together"
        yield from (Member(name=name, arguments=[role]) for name in self.scheduler_names)
        yield from (self.agents_member(number, agents) for number, agents in enumerate(self.agents, start=1))
        yield from (Member(name=name, arguments=["supervisor"]) for name in self.supervisor_names)

    def agents_member(self, number: int, agents: Agents) -> Member:
        """A process of these Agents."""
        name = f"agents-{number}"
        if self.has_node and agents == FOR_NODE:
            return Member(name=name, module=NODE)
        return Member(name=name, arguments=["agents", "--only", *agents])


def agents_over(transport: TransportKind) -> Sequence[Agents]:
    """Which Agents share a process: without queues none leaves its Scheduler's, over a broker each has its own."""
    if transport is TransportKind.LOCAL:
        return ()
    return APART if transport.is_broker else TOGETHER
