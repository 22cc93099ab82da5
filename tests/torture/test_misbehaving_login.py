"""The narrow login that misbehaves: each of its kinds waits until there is something to do, for a bounded time."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aio_pika
import pytest
from aio_pika.abc import AbstractIncomingMessage

from tests.programs import program
from tests.torture.test_faults import Says, Servers, _faults
from torture.faults import misbehaving_login
from torture.faults.misbehaving_login import WRONG_PROOF, Intruder
from torture.faults.narrow_login import OWN, ROOT, WireEventFields, narrow
from torture.servers.broker import TorturedBroker, brokering

GENUINE: WireEventFields = {
    **{"correlationid": "t1", "run": 1, "step": "visits.visit/1", "attempt": 1},
    **{"proof": "f" * 32, "store": "s", "replyto": "replies.scheduler-1"},
}
FORGED: WireEventFields = {**GENUINE, "correlationid": "nobody", "proof": WRONG_PROOF}


class OneLogin:
    """A login whose takes give what was prepared, and then nothing."""

    def __init__(self, *takes: list[WireEventFields]) -> None:
        self.takes = list(takes)
        self.looks = 0
        self.answered: list[WireEventFields] = []

    async def take(self, count: int) -> list[WireEventFields]:
        await asyncio.sleep(0)
        self.looks += 1
        return self.takes.pop(0) if self.takes else []

    async def put(self, queue: str, event: WireEventFields) -> None:
        self.answered.append(event)

    async def trespass(self, event: WireEventFields) -> None: ...


class Steps(Servers):
    """A store in which steps of others end, and the one that was taken at the third look."""

    def __init__(self, *, is_finished: bool = True) -> None:
        super().__init__()
        self._ended = 0
        self._looks = 0
        self._is_finished = is_finished

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        if sql == misbehaving_login.OVER:
            self._looks += 1
            return [[int(self._is_finished and self._looks >= 3)]]
        self._ended += 1
        return [[self._ended]]


@pytest.fixture(autouse=True)
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misbehaving_login, "LOOK_SECONDS", 0.0)
    for name in ("TAKING_SECONDS", "FINISHED_SECONDS"):
        monkeypatch.setattr(misbehaving_login, name, 0.05)


async def struck(monkeypatch: pytest.MonkeyPatch, kind: str, login: OneLogin, steps: Steps) -> int:
    """How often that kind was delivered after one strike."""

    @asynccontextmanager
    async def one_login(broker: TorturedBroker) -> AsyncIterator[OneLogin]:
        yield login

    monkeypatch.setattr(misbehaving_login, "narrow", one_login)
    faults = _faults(Says(working=set()), [])
    broker: Any = None
    faults.add(Intruder(steps, broker, faults, random.Random(7)).chaos())
    await faults.strike(f"narrow login {kind}")
    return faults.delivered[f"narrow login {kind}"]


async def test_it_takes_until_a_genuine_request_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misbehaving_login, "TAKING_SECONDS", 30.0)
    login = OneLogin([], [], [], [], [], [FORGED], [GENUINE])
    assert await struck(monkeypatch, "takes", login, Steps()) == 1
    assert login.looks == 7


async def test_a_queue_that_stays_empty_is_no_delivery_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await struck(monkeypatch, "takes", OneLogin(), Steps()) == 0


async def test_it_replays_what_it_took_once_others_have_finished_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misbehaving_login, "FINISHED_SECONDS", 30.0)
    login = OneLogin([], [GENUINE])
    assert await struck(monkeypatch, "replays", login, Steps()) == 1
    assert {event["proof"] for event in login.answered} == {GENUINE["proof"]}


async def test_nothing_is_replayed_of_what_others_do_not_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    login = OneLogin([GENUINE])
    assert await struck(monkeypatch, "replays", login, Steps(is_finished=False)) == 0
    assert login.answered == []


@pytest.mark.servers
async def test_at_rabbitmq_it_takes_the_only_request_though_agents_wait_for_it() -> None:
    program("rabbitmq-server", "rabbitmq-server")

    async def kept(message: AbstractIncomingMessage) -> None:
        """An Agent of the application, which would do its work."""

    with brokering("rabbitmq") as broker:
        assert broker is not None
        async with await aio_pika.connect(broker.address()) as agents, narrow(broker) as login:
            channel = await agents.channel()
            queue = await channel.declare_queue(f"{ROOT}.{OWN}", durable=True, arguments={"x-queue-type": "quorum"})
            for _ in range(3):
                await queue.consume(kept)
            taking = asyncio.create_task(login.take(1))
            while ((await queue.declare()).consumer_count or 0) < 4:  # noqa: ASYNC110 - the server sends no event of it
                await asyncio.sleep(0.02)
            body = json.dumps([GENUINE]).encode()
            await channel.default_exchange.publish(aio_pika.Message(body), f"{ROOT}.{OWN}")
            assert await taking == [GENUINE]
