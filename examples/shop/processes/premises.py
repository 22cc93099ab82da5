"""The premises of the shop: one folder, one state store, one transport, and every process that works there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from examples.shop.processes.crews import Member
from examples.shop.processes.ports import Ports
from examples.shop.processes.stage import DemoStage
from examples.shop.processes.stores import StoreKind
from examples.shop.services.process import ServiceProcess
from servers.keeper.broker_process import BrokerProcess
from servers.keeper.broker_state import BrokerStanding
from servers.keeper.group import Group
from servers.keeper.pair_process import PairProcess
from servers.keeper.pair_state import Standing
from servers.keeper.process import Process, Upkeep

SERVICES = ("stock", "payment", "parcel", "mail")
FREE_PORTS = Ports()

OnStanding = Callable[[Standing | BrokerStanding], None]


class Premises:
    """Build processes here and start them in `group`; they get their settings from `settings` and `stage` alone.

    Remote services are started again when they die. So are the other processes, with `restarting`. Where the state
    store or the transport run on servers of their own, start those first; `on_change` is called with each change of
    their state.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        *,
        stage: DemoStage | None = None,
        ports: Ports = FREE_PORTS,
        stock: Mapping[str, int] | None = None,
        restarting: bool = False,
        on_revival: Callable[[str], None] = lambda _line: None,
        on_change: OnStanding = lambda _standing: None,
    ) -> None:
        self.folder = folder.absolute()
        self.stage = stage or DemoStage()
        self.group = Group()
        self._settings = settings
        self._ports = ports
        self._upkeep = Upkeep(logs=self.folder, restarting=restarting, on_revival=on_revival, on_loss=self.group.lose)
        self.pair = self._pair(on_change)
        self.broker = self._broker(on_change)
        self.store = f"sqlite:///{self.folder / 'orders.db'}" if self.pair is None else self.pair.address
        self.transport = str(self.stage.transport) if self.broker is None else self.broker.address
        self.services = {name: self._service(name, stock if name == "stock" else None) for name in SERVICES}

    async def start_servers(self) -> None:
        """Start what store and transport stand on, if anything."""
        await asyncio.gather(
            *(self.group.start(servers) for servers in (self.pair, self.broker) if servers is not None)
        )

    def worker(self, name: str, role: str, *options: str) -> Process:
        """One kind of actor; the services' ports have to be known, so they are started before."""
        return self.member(Member(name=name, arguments=[role, *options]))

    def member(self, member: Member) -> Process:
        """One of a crew; see `worker`."""
        return Process(member.name, member.module, *member.arguments, upkeep=self._informed())

    def bookkeeper(self) -> Process:
        """The process that records in the orders how their tasks ended."""
        return Process("bookkeeper", "examples.shop.bookkeeper", upkeep=self._informed())

    def storefront(self) -> Process:
        """Where customers order; where there is a broker it knows that alone, and not where tasks are kept."""
        queues = self.store if self.broker is None else self.transport
        return Process(
            "storefront",
            "examples.shop.storefront",
            *["--queues", queues, "--database", str(self.folder / "storefront.db"), "--name", "storefront-1"],
            port=self._ports.storefront,
            upkeep=replace(self._upkeep, environment=_foreign()),
        )

    def control(self, storefront: Process) -> Process:
        """The page on which faults are switched on."""
        urls = [each for name, service in self.services.items() for each in (f"--{name}", service.url)]
        return Process(
            "control",
            "examples.shop.services.control",
            *[*urls, "--storefront", storefront.url],
            port=self._ports.control,
            upkeep=self._informed(),
        )

    def console(self) -> Process:
        """The operators' pages over the state store."""
        return Process("console", "examples.shop.console", port=self._ports.console, upkeep=self._informed())

    def _pair(self, on_change: OnStanding) -> PairProcess | None:
        if self.stage.store is not StoreKind.POSTGRESQL:
            return None
        return PairProcess(upkeep=replace(self._upkeep, restarting=False), on_change=on_change)

    def _broker(self, on_change: OnStanding) -> BrokerProcess | None:
        kind = self.stage.transport
        if not kind.is_broker:
            return None
        return BrokerProcess(kind, upkeep=replace(self._upkeep, restarting=False), on_change=on_change)

    def _service(self, name: str, stock: Mapping[str, int] | None) -> ServiceProcess:
        port: int = getattr(self._ports, name)
        upkeep = replace(self._upkeep, restarting=True)
        return ServiceProcess(name, self.folder / f"{name}.db", port=port, stock=stock, upkeep=upkeep)

    def _informed(self) -> Upkeep:
        """Upkeep of a process that has to know the store, the transport and where the services are."""
        urls = {f"ORDERS_{name.upper()}_URL": service.url for name, service in self.services.items()}
        places = {"STEPWARD_STORE": self.store, "STEPWARD_TRANSPORT": self.transport}
        return replace(self._upkeep, environment={**_foreign(), **self._settings, **urls, **places})


def _foreign() -> dict[str, str]:
    """The environment without settings of the user's own, which are none of the example's business."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPWARD_")}
    # Proxies of the environment are for the outside world.
    return {**kept, "NO_PROXY": "127.0.0.1"}
