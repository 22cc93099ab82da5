"""`python -m examples.orders.shop`: open the shop, say where it is, and keep it open until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from examples.orders.processes.ports import Ports
from examples.orders.processes.premises import Premises
from examples.orders.processes.process import ProcessDied
from examples.orders.shop.lock import FolderTaken, locked
from examples.orders.shop.sign import sign
from examples.orders.tether import listen, until

# A visitor who kills a process wants to see it made good: within seconds.
SETTINGS = {
    "STEPWARD_TRANSPORT": "store",
    "STEPWARD_LEASE": "3s",
    "STEPWARD_SUPERVISOR_EVERY": "500ms",
    "STEPWARD_DRAIN": "2s",
}


def main() -> None:
    """Read the command line and open the shop; exit 1 if it cannot be kept open."""
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
    arguments = parser.parse_args()
    try:
        _refuse_taken(arguments.ports)
        with locked(arguments.folder):
            asyncio.run(_keep_open(arguments.folder, arguments.ports))
    except (FolderTaken, PortTaken, ProcessDied) as error:
        sys.exit(f"shop: {error}")


class PortTaken(Exception):
    """Somebody else listens where a process of the shop has to."""


async def _keep_open(folder: Path, ports: Ports) -> None:
    premises = Premises(folder, SETTINGS, ports=ports, restarting=True, on_revival=_say)
    try:
        await until(listen(), _open(premises))
    finally:
        await premises.group.stop()
    _say("The shop is closed; nothing of it is left running.")


async def _open(premises: Premises) -> None:
    _say("Opening the shop ...")
    group = premises.group
    await group.start(*premises.services.values())
    await group.start(
        premises.bookkeeper(),
        premises.worker("submission", "submission"),
        premises.worker("scheduler", "scheduler"),
        premises.worker("agents", "agents"),
        premises.worker("supervisor", "supervisor"),
    )
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


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
