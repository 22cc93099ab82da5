"""`make shop`: every process of the example for a browser, made good when one dies, and gone at the end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from examples.orders.database import OrderCare, OrderLine, OrderRecord
from examples.shop.lock import locked
from examples.shop.processes.ports import Ports
from showcase.front_door import FrontDoor
from tests.programs import program
from tests.tiers import sampled

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]
BOUND_SECONDS = 60
LOOK_SECONDS = 0.05
COMPLETED = "stepward.task.completed"
TEAPOT = OrderRecord(
    id="order-1",
    customer="Ada",
    lines=(OrderLine(product="teapot", quantity=1),),
    amount_cents=4200,
    address="Harbour Street 5",
    care=OrderCare.NORMAL,
)


class Shop:
    """The shop as a process, and what it said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.said = ""
        self.process = process

    async def says(self, pattern: str) -> str:
        """Read on until a line has what is looked for; the line."""
        assert self.process.stdout is not None, "stdout is a pipe"
        async with asyncio.timeout(BOUND_SECONDS):
            while line := (await self.process.stdout.readline()).decode():
                self.said += line
                if re.search(pattern, line):
                    return line.strip()
        raise AssertionError(f"never said {pattern}: {self.said}")

    async def ends(self) -> int:
        """Read to the end; it comes when the last process that has the shop's output is gone."""
        assert self.process.stdout is not None, "stdout is a pipe"
        async with asyncio.timeout(BOUND_SECONDS):
            self.said += (await self.process.stdout.read()).decode()
            return await self.process.wait()


@asynccontextmanager
async def open_shop(folder: Path, port: int | str, *options: str) -> AsyncIterator[Shop]:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "examples.shop", "--folder", str(folder), f"--port-base={port}", *options],
        cwd=ROOT,
        # Settings of the user's own are none of the shop's business: these would break it.
        env={**os.environ, "STEPWARD_STORE": "sqlite:////nowhere/at/all.db", "STEPWARD_LEASE": "9m"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Shop(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def port() -> int:
    """A base above which all ports of the shop are free, and which no other process of these tests is given."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    first = 20_000 + 3_000 * worker
    for base in range(first, first + 2_800, 211):
        if not Ports.from_base(base).taken():
            return base
    raise AssertionError("no ports are free")


def _processes_in(place: Path | str) -> dict[str, int]:
    """Processes of this machine that work in the folder, or the store, by the last module of their command line."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text().split("\0")
            environment = (process / "environ").read_text()
        except OSError:
            continue
        if "examples.shop" in " ".join(command) and str(place) in " ".join(command) + environment:
            found[" ".join(command[2:4])] = int(process.name)
    return found


def _all_given_to(pid: int) -> str:
    """The command line and the environment of a process."""
    return "\n".join((Path("/proc") / str(pid) / name).read_text() for name in ("cmdline", "environ"))


async def _heard(door: FrontDoor, wanted: str) -> None:
    """Reload the order's page until it tells of an event of that type."""
    async with asyncio.timeout(BOUND_SECONDS):
        while wanted not in [event.type for event in await door.heard("order-1")]:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(LOOK_SECONDS)


async def _gone(pid: int) -> None:
    """Wait until a process that is not this one's child has ended."""
    try:
        place = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(place, ended.set)
    await ended.wait()
    asyncio.get_running_loop().remove_reader(place)
    os.close(place)


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_opens_takes_orders_and_closes(tmp_path: Path, port: int, number: signal.Signals) -> None:
    async with open_shop(tmp_path, port) as shop:
        await shop.says("Ctrl-C closes it")
        assert f"storefront  http://127.0.0.1:{port} " in shop.said
        async with httpx.AsyncClient(trust_env=False) as client:
            for url in re.findall(r"http://\S+", shop.said):
                path = "/health" if port + 100 < int(url.rpartition(":")[2]) < port + 105 else "/"
                assert (await client.get(url + path)).status_code == 200, url
        async with FrontDoor(f"http://127.0.0.1:{port}") as door:
            await door.order(TEAPOT)
            await _heard(door, COMPLETED)
        assert len(_processes_in(tmp_path)) == 13
        shop.process.send_signal(number)
        assert await shop.ends() == 0
    assert "nothing of it is left running" in shop.said
    assert "Traceback" not in shop.said
    assert _processes_in(tmp_path) == {}


@pytest.mark.faults
async def test_on_postgresql_it_outlives_the_primary(tmp_path: Path, port: int) -> None:
    async with open_shop(tmp_path, port, "--store", "postgresql") as shop:
        await shop.says("Ctrl-C closes it")
        [address] = re.findall(r"STEPWARD_STORE=(\S+)", shop.said)
        [folder] = re.findall(r"data and logs are in (\S+), and go when the shop closes", shop.said)
        [pid] = re.findall(r"kill -9 (\d+)", shop.said)
        [primary, standby] = re.findall(r"127\.0\.0\.1:\d+", address)
        assert f"psql '{address}?target_session_attrs=read-write'" in shop.said
        assert len(_processes_in(folder)) == 5, _processes_in(folder)
        assert len(_processes_in(address)) == 8, _processes_in(address)
        os.kill(int(pid), signal.SIGKILL)
        await shop.says(f"PostgreSQL: {standby} .* is the primary, and alone; it is given a standby")
        async with FrontDoor(f"http://127.0.0.1:{port}") as door:
            await door.order(TEAPOT)
            await _heard(door, COMPLETED)
        await shop.says(f"PostgreSQL: {standby} .* is the primary, {primary} .* its standby")
        shop.process.terminate()
        assert await shop.ends() == 0
    assert "Traceback" not in shop.said
    assert _processes_in(folder) | _processes_in(address) == {}
    assert not Path(folder).exists()


@pytest.mark.faults
async def test_over_nats_it_outlives_a_server(tmp_path: Path, port: int) -> None:
    program("node", "nodejs")
    program("npm", "npm")
    async with open_shop(tmp_path, port, "--store", "sqlite", "--transport", "nats") as shop:
        await shop.says("Ctrl-C closes it")
        [folder] = re.findall(r"data and logs are in (\S+), and go when the shop closes", shop.said)
        [address] = re.findall(r"STEPWARD_TRANSPORT='(nats://\S+)'", shop.said)
        [pid] = re.findall(r"kill (\d+)", shop.said)
        assert "The mail Agent is the one that is written for Node" in shop.said
        os.kill(int(pid), signal.SIGTERM)
        await shop.says(r"NATS: node\d at .*, node\d at .*; 1 of 3 is started again")
        async with FrontDoor(f"http://127.0.0.1:{port}") as door:
            await door.order(TEAPOT)
            await _heard(door, COMPLETED)
        knows = _all_given_to(_processes_in(address)["examples.shop.storefront --queues"])
        assert address in knows and "STEPWARD_" not in knows and "orders.db" not in knows
        shop.process.terminate()
        assert await shop.ends() == 0
    assert "Traceback" not in shop.said
    assert _processes_in(folder) | _processes_in(address) == {}
    assert not Path(folder).exists()


@pytest.mark.faults
async def test_a_process_that_is_killed_is_started_again(tmp_path: Path, port: int) -> None:
    async with open_shop(tmp_path, port) as shop:
        await shop.says("Ctrl-C closes it")
        for name, command in {
            "scheduler-1": "examples.shop.worker scheduler",
            "submission-1": "examples.shop.worker submission",
            "storefront": "examples.shop.storefront --queues",
            "payment": "examples.shop.services payment",
        }.items():
            pid = _processes_in(tmp_path)[command]
            os.kill(pid, signal.SIGKILL)
            assert await shop.says("died") == f"{name} died (signal 9) and was started again"
            assert _processes_in(tmp_path)[command] != pid
        shop.process.terminate()
        assert await shop.ends() == 0
    assert _processes_in(tmp_path) == {}


@pytest.mark.faults
async def test_an_order_that_is_on_the_way_goes_on_when_the_shop_opens_again(tmp_path: Path, port: int) -> None:
    async with FrontDoor(f"http://127.0.0.1:{port}") as door:
        async with open_shop(tmp_path, port) as shop:
            await shop.says("Ctrl-C closes it")
            async with httpx.AsyncClient(trust_env=False) as client:
                await client.put(f"http://127.0.0.1:{port + 103}/faults", json=[{"kind": "hang", "times": 1}])
            await door.order(TEAPOT)
            await _heard(door, "stepward.step.completed")
            shop.process.terminate()
            assert await shop.ends() == 0
        async with open_shop(tmp_path, port) as shop:
            await shop.says("Ctrl-C closes it")
            await _heard(door, COMPLETED)
            shop.process.terminate()
            assert await shop.ends() == 0


@pytest.mark.faults
async def test_nothing_outlives_a_shop_that_is_killed(tmp_path: Path, port: int) -> None:
    async with open_shop(tmp_path, port) as shop:
        await shop.says("Ctrl-C closes it")
        left = _processes_in(tmp_path)
        shop.process.kill()
        await shop.ends()
    assert len(left) == 13
    async with asyncio.timeout(BOUND_SECONDS):
        await asyncio.gather(*(_gone(pid) for pid in left.values()))


async def test_says_which_port_is_taken(tmp_path: Path, port: int) -> None:
    with socket.create_server(("127.0.0.1", port + 100)):
        async with open_shop(tmp_path, port) as shop:
            assert await shop.ends() == 1
    assert shop.said == (
        f"shop: expected free ports, found taken: {port + 100} (control); end what listens there, "
        "or choose others: make shop PORT_BASE=9000\n"
    )


async def test_prints_the_obstacle_to_opening(tmp_path: Path, port: int) -> None:
    (tmp_path / "payment.db").mkdir()
    async with open_shop(tmp_path, port) as shop:
        assert await shop.ends() == 1
    line = "shop: payment exited with 1 before it was ready; it said last: .* unable to open database file"
    assert re.search(line, shop.said)
    assert _processes_in(tmp_path) == {}


async def test_two_shops_do_not_share_a_folder(tmp_path: Path, port: int) -> None:
    with locked(tmp_path):
        async with open_shop(tmp_path, port) as second:
            assert await second.ends() == 1
    assert "found another shop open in it; close that, or choose another --folder" in second.said


async def test_a_store_that_is_none_is_refused_in_one_line(tmp_path: Path, port: int) -> None:
    async with open_shop(tmp_path, port, "--store", "mysql") as shop:
        assert await shop.ends() == 2
    assert shop.said == "shop: store: expected sqlite or postgresql, found 'mysql'; say STORE=postgresql, or nothing\n"


async def test_a_transport_that_is_none_is_refused_in_one_line(tmp_path: Path, port: int) -> None:
    async with open_shop(tmp_path, port, "--transport", "kafka") as shop:
        assert await shop.ends() == 2
    expected = "local, store, nats, rabbitmq, amqp10 or activemq, found 'kafka'; say TRANSPORT=nats, or nothing"
    assert shop.said == f"shop: transport: expected {expected}\n"


@pytest.mark.parametrize("base", sampled((0, 65_431), 0))
async def test_a_port_base_out_of_range_is_refused(tmp_path: Path, base: int) -> None:
    async with open_shop(tmp_path, base) as shop:
        assert await shop.ends() == 2
    assert shop.said == f"shop: port base: expected 1 to 65429, found {base}\n"


@pytest.mark.parametrize("base", sampled(("abc", "", "-1", "8e3", "٣", "9" * 5000), "abc"))
async def test_a_port_base_that_is_no_number_is_refused_in_one_line(tmp_path: Path, base: str) -> None:
    async with open_shop(tmp_path, base) as shop:
        assert await shop.ends() == 2
    expected = f"expected 1 to 65429, found {base[:40]!r}; say PORT_BASE=9000, or nothing"
    assert shop.said == f"shop: port base: {expected}\n"
