"""`python -m examples.shop`: open the shop, print its address, and keep it open until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from examples.shop.crew import crew_of
from examples.shop.lock import FolderTaken, locked
from examples.shop.node import NodeMissing, serves_mail
from examples.shop.processes.ports import Ports, ports_of
from examples.shop.processes.premises import Premises
from examples.shop.processes.stage import DemoStage, stage_of
from examples.shop.sign import sign, word_of
from servers.keeper.broker_state import BrokerStanding
from servers.keeper.pair_state import Standing
from servers.keeper.process import ProcessDied
from servers.keeper.programs import ProgramMissing, check_programs
from servers.keeper.transports import TRANSPORTS
from servers.tether import listen, until

# A visitor who kills a process wants to see it made good: within seconds.
SETTINGS = {
    "STEPWARD_LEASE": "3s",
    "STEPWARD_SUPERVISOR_EVERY": "500ms",
    "STEPWARD_DRAIN": "2s",
}
FAILED, MISUSED, UNREACHABLE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What shop is to be opened, and where."""

    stage: DemoStage
    ports: Ports
    folder: Path


def main() -> None:
    """Read the command line and open the shop; exit 1 if it cannot be kept open."""
    try:
        asked = _asked()
        check_programs(asked.stage.transport)
        _refuse_taken(asked.ports)
        with locked(asked.folder), _place(asked) as folder:
            asyncio.run(_keep_open(folder, asked))
    except ValueError as error:
        _refuse(str(error), MISUSED)
    except ProgramMissing as error:
        _refuse(str(error), UNREACHABLE)
    except (FolderTaken, NodeMissing, PortTaken, ProcessDied) as error:
        _refuse(str(error), FAILED)


class PortTaken(Exception):
    """Another program listens on a port that a process of the shop needs."""


def _asked() -> Asked:
    """The command line; raises ValueError, in words."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/shop"), help="where all data is kept")
    parser.add_argument(
        *["--port-base"], default="8000", metavar="PORT", help="the storefront's; the others follow a hundred above it"
    )
    parser.add_argument("--store", default="", help="sqlite or postgresql; what goes with the transport unless given")
    parser.add_argument("--transport", default="", help=f"{TRANSPORTS}; store unless given")
    given = parser.parse_args()
    return Asked(stage_of(given.store, given.transport), ports_of(given.port_base), given.folder)


def _refuse(why: str, code: int) -> NoReturn:
    print(f"shop: {why}", file=sys.stderr)
    sys.exit(code)


@contextmanager
def _place(asked: Asked) -> Iterator[Path]:
    """Where data are kept: no longer than those that go with the servers which hold them."""
    if not asked.stage.has_servers:
        yield asked.folder
        return
    with TemporaryDirectory(prefix="stepward-shop-") as place:
        yield Path(place)


async def _keep_open(folder: Path, asked: Asked) -> None:
    premises = Premises(
        folder,
        SETTINGS,
        stage=asked.stage,
        ports=asked.ports,
        restarting=True,
        on_revival=_say,
        on_change=_say_standing,
    )
    try:
        await until(listen(), _open(premises))
    finally:
        await premises.group.stop()
    _say("The shop is closed; nothing of it is left running.")


async def _open(premises: Premises) -> None:
    _say("Opening the shop ...")
    group = premises.group
    await asyncio.gather(premises.start_servers(), group.start(*premises.services.values()))
    has_node = await serves_mail(premises.stage.transport, _say)
    crew = replace(crew_of(premises.stage), has_node=has_node)
    await group.start(premises.bookkeeper(), *map(premises.member, crew.members()))
    storefront = premises.storefront()
    await group.start(storefront)
    control = premises.control(storefront)
    console = premises.console()
    await group.start(control, console)
    _say(sign(premises, storefront, control, console))
    await group.watch()


def _refuse_taken(ports: Ports) -> None:
    taken = ports.taken()
    if taken:
        found = ", ".join(f"{port} ({name})" for name, port in taken.items())
        raise PortTaken(
            f"expected free ports, found taken: {found}; end what listens there, "
            "or choose others: make shop PORT_BASE=9000"
        )


def _say_standing(standing: Standing | BrokerStanding) -> None:
    _say(word_of(standing))


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
