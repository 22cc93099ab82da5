"""The premises of the shop: one folder, one state store, and every process that works there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from examples.orders.postgres.process import PairProcess
from examples.orders.postgres.standing import Standing
from examples.orders.processes.group import Group
from examples.orders.processes.ports import Ports
from examples.orders.processes.process import Process, Upkeep
from examples.orders.processes.stores import StoreKind
from examples.orders.services.process import ServiceProcess

SERVICES = ("stock", "payment", "parcel", "mail")
FREE_PORTS = Ports()
WORKER = "examples.orders.worker"


class Premises:
    """Build processes here and start them in `group`; they get their settings from `settings` alone.

    Remote services are started again when they die. So are the other processes, with `restarting`. The state store is a
    file in the folder, or stands on servers of its own: those are to be started first, and `on_change` is told how they
    stand.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        *,
        kind: StoreKind = StoreKind.SQLITE,
        ports: Ports = FREE_PORTS,
        stock: Mapping[str, int] | None = None,
        restarting: bool = False,
        on_revival: Callable[[str], None] = lambda _line: None,
        on_change: Callable[[Standing], None] = lambda _standing: None,
    ) -> None:
        self.folder = folder.absolute()
        self.group = Group()
        self._settings = settings
        self._ports = ports
        self._upkeep = Upkeep(logs=self.folder, restarting=restarting, on_revival=on_revival, on_loss=self.group.lose)
        self.pair = self._pair(on_change) if kind is StoreKind.POSTGRESQL else None
        self.store = f"sqlite:///{self.folder / 'orders.db'}" if self.pair is None else self.pair.address
        self.services = {name: self._service(name, stock if name == "stock" else None) for name in SERVICES}

    async def start_store(self) -> None:
        """Start what the state store stands on, if it is no file."""
        if self.pair is not None:
            await self.group.start(self.pair)

    def worker(self, name: str, role: str, *options: str) -> Process:
        """One kind of actor; the services' ports have to be known, so they are started before."""
        return Process(name, WORKER, role, *options, upkeep=self._informed())

    def bookkeeper(self) -> Process:
        """Who notes in the orders how their tasks ended."""
        return Process("bookkeeper", "examples.orders.bookkeeper", upkeep=self._informed())

    def storefront(self) -> Process:
        """Where customers order."""
        return Process(
            "storefront",
            "examples.orders.storefront",
            *["--queues", self.store, "--database", str(self.folder / "storefront.db"), "--name", "storefront-1"],
            port=self._ports.storefront,
            upkeep=self._informed(),
        )

    def control(self, storefront: Process) -> Process:
        """The page on which faults are switched on."""
        urls = [each for name, service in self.services.items() for each in (f"--{name}", service.url)]
        return Process(
            "control",
            "examples.orders.services.control",
            *[*urls, "--storefront", storefront.url],
            port=self._ports.control,
            upkeep=self._informed(),
        )

    def _pair(self, on_change: Callable[[Standing], None]) -> PairProcess:
        return PairProcess(upkeep=replace(self._upkeep, restarting=False), on_change=on_change)

    def _service(self, name: str, stock: Mapping[str, int] | None) -> ServiceProcess:
        port: int = getattr(self._ports, name)
        upkeep = replace(self._upkeep, restarting=True)
        return ServiceProcess(name, self.folder / f"{name}.db", port=port, stock=stock, upkeep=upkeep)

    def _informed(self) -> Upkeep:
        """Upkeep of a process that has to know the store and where the services are."""
        # Settings of the user's own are none of the example's business.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPWARD_")}
        urls = {f"ORDERS_{name.upper()}_URL": service.url for name, service in self.services.items()}
        # Proxies of the environment are for the outside world.
        environment = {**kept, **self._settings, **urls, "STEPWARD_STORE": self.store, "NO_PROXY": "127.0.0.1"}
        return replace(self._upkeep, environment=environment)
