"""Replies while no commit comes through: each is heard once, and no more are held than there is room for."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stepward.clock import Environment
from stepward.events import Observers
from stepward.model.messages.requests import Outcome, Reply
from stepward.scheduler.replies import MOST_UNSETTLED, TAKE, Replies
from stepward.settings import Settings
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.scheduler.world import VirtualClock

QUEUE = "replies.scheduler-1"
LEASE = 10.0


def replied(number: int) -> Reply:
    return Reply(task=f"uid-{number}", run=1, key="svc.do/1", attempt=1, outcome=Outcome.COMPLETED, output=b"1")


class Desk:
    """A mail and the queue that it is read from, as long as the block lasts."""

    def __init__(self, folder: Path) -> None:
        self.transport = MemoryTransport(asyncio.get_running_loop().time)
        settings = Settings.load({"lease": LEASE}, {}, folder)
        environment = Environment(VirtualClock(), random.Random(1))
        self.mail = Replies(
            self.transport,
            QUEUE,
            settings,
            {},
            environment,
            Observers(),
            stir=lambda: None,
            ahead=lambda: None,
            progress=lambda _: None,
        )

    async def __aenter__(self) -> Desk:
        self._pump = asyncio.create_task(self.mail.pump())
        return self

    async def __aexit__(self, *exception: Any) -> None:
        self._pump.cancel()
        with suppress(asyncio.CancelledError):
            await self._pump

    def heard(self) -> list[str]:
        return [reply.task for reply, _ in self.mail.take()]


async def test_what_comes_again_while_its_commit_is_waited_for_is_heard_once(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [replied(1)])
        await asyncio.sleep(20 * LEASE)
        assert desk.heard() == ["uid-1"]
        await desk.mail.settle(desk.mail.heard())
        await asyncio.sleep(20 * LEASE)
        assert desk.heard() == []


async def test_what_was_said_again_after_its_commit_is_heard_again(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        for _ in range(2):
            await desk.transport.publish(QUEUE, [replied(1)])
            await asyncio.sleep(1)
            assert desk.heard() == ["uid-1"]
            await desk.mail.settle(desk.mail.heard())


async def test_no_more_is_taken_than_there_is_room_for_until_a_turn_hears_it(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [replied(number) for number in range(MOST_UNSETTLED + 2 * TAKE)])
        await asyncio.sleep(1)
        assert len(desk.mail) == MOST_UNSETTLED
        heard = desk.mail.heard()
        await asyncio.sleep(1)
        assert len(desk.mail) == 2 * MOST_UNSETTLED
        await desk.mail.settle(heard)


@pytest.mark.parametrize("other", [{"attempt": 2}, {"run": 2}, {"key": "svc.do/2"}, {"outcome": Outcome.GAVE_UP}])
async def test_another_answer_is_another(other: dict[str, Any], tmp_path: Path) -> None:
    said: dict[str, Any] = {"task": "uid-1", "run": 1, "key": "svc.do/1", "attempt": 1, "outcome": Outcome.COMPLETED}
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [Reply(**said), Reply(**{**said, **other})])
        await asyncio.sleep(1)
        assert desk.heard() == ["uid-1"] * 2
