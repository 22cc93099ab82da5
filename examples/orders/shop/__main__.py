"""`python -m examples.orders.shop`: open the shop, say where it is, and keep it open until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.orders.postgres.standing import Standing
from examples.orders.processes.ports import Ports
from examples.orders.processes.premises import Premises
from examples.orders.processes.process import ProcessDied
from examples.orders.processes.stores import StoreKind, store_kind
from examples.orders.shop.lock import FolderTaken, locked
from examples.orders.shop.sign import sign, word_of
from examples.orders.tether import listen, until

# A visitor who kills a process wants to see it made good: within seconds.
SETTINGS = {
    "STEPWARD_TRANSPORT": "store",
    "STEPWARD_LEASE": "3s",
    "STEPWARD_SUPERVISOR_EVERY": "500ms",
    "STEPWARD_DRAIN": "2s",
}
WORKERS = {
    StoreKind.SQLITE: ("submission", "scheduler", "agents", "supervisor"),
    # More of each kind that more machines would be there for.
    StoreKind.POSTGRESQL: (
        *("submission", "scheduler-1", "scheduler-2", "agents-1", "agents-2", "supervisor-1", "supervisor-2"),
    ),
}
MISUSED = 2


def main() -> None:
    """Read the command line and open the shop; exit 1 if it cannot be kept open."""
    given = _given()
    try:
        kind = store_kind(given.store)
    except ValueError as error:
        print(f"shop: {error}", file=sys.stderr)
        sys.exit(MISUSED)
    try:
        _refuse_taken(given.ports)
        with locked(given.folder), _place(kind, given.folder) as folder:
            asyncio.run(_keep_open(folder, kind, given.ports))
    except (FolderTaken, PortTaken, ProcessDied) as error:
        sys.exit(f"shop: {error}")


class PortTaken(Exception):
    """Somebody else listens where a process of the shop has to."""


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.orders.shop", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/shop"), help="where all data is kept")
    parser.add_argument(
        "--port-base",
        type=_ports,
        dest="ports",
        default="8000",
        metavar="PORT",
        help="the storefront's port; the others follow a hundred above it",
    )
    parser.add_argument("--store", default="sqlite", help="sqlite or postgresql")
    return parser.parse_args()


@contextmanager
def _place(kind: StoreKind, folder: Path) -> Iterator[Path]:
    """Where data are kept: no longer than those in the database, which go with its servers."""
    if kind is StoreKind.SQLITE:
        yield folder
        return
    with TemporaryDirectory(prefix="stepward-shop-") as place:
        yield Path(place)


async def _keep_open(folder: Path, kind: StoreKind, ports: Ports) -> None:
    premises = Premises(
        folder, SETTINGS, kind=kind, ports=ports, restarting=True, on_revival=_say, on_change=_say_standing
    )
    try:
        await until(listen(), _open(premises, WORKERS[kind]))
    finally:
        await premises.group.stop()
    _say("The shop is closed; nothing of it is left running.")


async def _open(premises: Premises, workers: Sequence[str]) -> None:
    _say("Opening the shop ...")
    group = premises.group
    await asyncio.gather(premises.start_store(), group.start(*premises.services.values()))
    workers_of = (premises.worker(name, name.partition("-")[0]) for name in workers)
    await group.start(premises.bookkeeper(), *workers_of)
    storefront = premises.storefront()
    await group.start(storefront)
    control = premises.control(storefront)
    await group.start(control)
    _say(sign(premises, storefront, control))
    await group.watch()


def _ports(text: str) -> Ports:
    try:
        return Ports.from_base(int(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _refuse_taken(ports: Ports) -> None:
    taken = ports.taken()
    if taken:
        found = ", ".join(f"{port} ({name})" for name, port in taken.items())
        raise PortTaken(
            f"expected free ports, found taken: {found}; end what listens there, "
            "or choose others: make shop PORT_BASE=9000"
        )


def _say_standing(standing: Standing) -> None:
    _say(word_of(standing))


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
