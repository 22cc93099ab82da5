"""How the demo ends when something is wrong: never silently, never late, never wider than 80 columns."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from examples.shop.processes.crews import Member
from examples.shop.processes.stage import DemoStage
from servers.keeper.process import ProcessDied
from showcase import __main__ as demo
from showcase import front_door
from showcase.front_door import FormRefused, FrontDoor
from showcase.plots import Plot, plot_of
from showcase.processes import Processes
from showcase.proof import Finding
from showcase.stories import orders
from showcase.telling import WIDTH, Teller
from showcase.waiting import Waits
from stepward.errors import StoreUnavailable

pytestmark = pytest.mark.servers

PLOT = plot_of(DemoStage())
LONG = "order-07: payment still holds a charge that nobody can explain, " * 3


@pytest.fixture(autouse=True)
def _no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_end_at_signals", lambda: None)


async def test_a_failed_finding_is_printed_and_fails_the_demo(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = [
        Finding("No order was charged twice", "20 charges"),
        Finding("Stock reserved is stock sold", LONG, (LONG,)),
    ]

    async def run(plot: Plot, folder: Path, teller: Teller, waits: Waits) -> list[Finding]:
        teller.findings(findings)
        return findings

    monkeypatch.setattr(demo, "run", run)
    assert await demo._demo(PLOT) == 1
    said = capsys.readouterr().out
    assert " ✔ No order was charged twice" in said
    assert " ✘ Stock reserved is stock sold" in said
    assert "1 of 2 findings do not hold" in said
    assert max(map(len, said.splitlines())) <= WIDTH


async def test_a_hanging_demo_names_what_it_waited_for_last(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(plot: Plot, folder: Path, teller: Teller, waits: Waits) -> list[Finding]:
        async with asyncio.TaskGroup() as group:
            for number in range(7):
                group.create_task(waits.until(f"order-{number} to end", _nothing))
        return []

    monkeypatch.setattr(demo, "run", run)
    monkeypatch.setattr(demo, "LONGEST_SECONDS", 0.05)
    assert await demo._demo(PLOT) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "gave up after 0.05 s, waiting for order-6 to end" in said
    assert said.endswith("order-2 to end, and 2 more")


@pytest.mark.parametrize("error", [ProcessDied("agents-1 exited with 1, unasked"), FormRefused("form of order-01")])
async def test_a_failing_demo_names_the_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def run(plot: Plot, folder: Path, teller: Teller, waits: Waits) -> list[Finding]:
        raise error

    monkeypatch.setattr(demo, "run", run)
    assert await demo._demo(PLOT) == 1
    assert str(error) in capsys.readouterr().out


async def test_a_worker_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    processes = Processes(tmp_path, PLOT)
    with pytest.raises(ProcessDied, match=r"juggler-1 exited with 2 before it was ready.*invalid choice: 'juggler'"):
        await processes.start_worker(Member(name="juggler-1", arguments=["juggler"]))
    await processes.stop()


async def test_a_worker_that_dies_by_itself_ends_the_play(tmp_path: Path) -> None:
    processes = Processes(tmp_path, PLOT)
    await processes.start_worker(Member(name="supervisor", arguments=["supervisor"]))
    os.kill(processes.worker("supervisor").pid, signal.SIGTERM)
    with pytest.raises(ProcessDied, match="supervisor exited with 0, unasked"):
        await processes.watch()
    await processes.stop()


async def test_a_refused_form_is_reported(tmp_path: Path) -> None:
    storefront = Processes(tmp_path, PLOT).storefront
    order, _ = next(orders())
    async with storefront, FrontDoor(storefront.url) as door:
        with pytest.raises(FormRefused, match="expected to be led to its page, found 400 Bad Request"):
            await door.order(replace(order, customer=""))
        await door.order(order)
        assert (dict(door.accepted), await door.heard(order.id)) == ({"order-01": 1}, [])
        await storefront.kill()
        with pytest.raises(FormRefused, match="form of order-01: expected an answer, found ConnectError"):
            await door.order(order)


async def test_a_form_is_sent_again_while_the_storefront_asks_for_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_door, "AGAIN_SECONDS", 0.001)
    monkeypatch.setattr(front_door, "PATIENCE_SECONDS", 0.003)
    answers = [503, 503, 303, 503, 503, 503, 503]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(answers.pop(0), headers={"Location": "/orders/order-01"})

    order, _ = next(orders())
    async with FrontDoor("http://storefront", httpx.MockTransport(answer)) as door:
        await door.order(order)
        assert (door.refused, dict(door.accepted)) == (2, {"order-01": 1})
        with pytest.raises(FormRefused, match="found 503 Service Unavailable"):
            await door.order(order)
    assert (door.refused, dict(door.accepted), answers) == (5, {"order-01": 1}, [])


async def test_waiting_outlasts_a_store_that_is_away() -> None:
    answers = [StoreUnavailable("no primary"), StoreUnavailable("no primary"), None]

    async def look() -> bool:
        if (answer := answers.pop(0)) is not None:
            raise answer
        return True

    await Waits().until("a store", look)
    assert answers == []


async def test_waiting_asks_again_until_something_is_found() -> None:
    waits = Waits()
    answers = iter([False, False, True])

    async def look() -> bool:
        return next(answers)

    await waits.until("a third answer", look)
    assert list(answers) == []


async def _nothing() -> str:
    return ""
