"""Requests that cannot be published at once: they wait beside the turn, in order, until published or obsolete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Event, Observers
from stepward.model.messages.requests import Request, request_queue
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.scheduler.dispatch.publisher import MOST_AT_ONCE, Fate, Publisher
from stepward.transport.contract import AgentMessage
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.transport.messages import request
from tests.virtual import START, settle

BANK, POST = "bank", "post"
STEP = Step(
    task="a",
    run=1,
    key="bank.pay/1",
    number=1,
    name="pay",
    kind=StepKind.OPERATION,
    state=StepState.ABANDONED,
    agent=BANK,
)


class Door(MemoryTransport):
    """A transport that is shut to some queues, or takes its time, and writes down what gets through."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.shut: set[str] = set()
        self.seconds = 0.0
        self.out: list[tuple[str, list[str]]] = []
        self.latest = request()

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if queue in self.shut:
            raise TransportError("expected it open, found it shut")
        self.out.append((queue, [message.task for message in messages]))
        if isinstance(messages[-1], Request):
            self.latest = messages[-1]

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        self.out.append((queue, [f"not {task}"]))

    @property
    def tasks(self) -> list[str]:
        return [task for _, tasks in self.out for task in tasks]


class Wharf:
    """Departures over a door, with what they tell."""

    def __init__(self) -> None:
        self.door = Door()
        self.over: list[str] = []
        self.fates: dict[str, Fate] = {}
        self.changes: list[frozenset[str]] = []
        self.events: list[Event] = []
        self.departures = Publisher(
            self.door,
            Environment(),
            Observers(self.events.append),
            over=lambda requests: self.over.extend(request.task for request in requests),
            fate=lambda request: self.fates.get(request.task, Fate.LEAVE),
            changed=self.changes.append,
        )

    def shut(self, *agents: str) -> None:
        self.door.shut = {request_queue(agent) for agent in agents}

    def put(self, *tasks: str, agent: str = BANK) -> None:
        self.departures.put(agent, asked(*tasks))


def asked(*tasks: str) -> list[Request]:
    return [request(task) for task in tasks]


@pytest.fixture
async def wharf() -> AsyncIterator[Wharf]:
    wharf = Wharf()
    yield wharf
    await wharf.departures.stop()


async def test_who_puts_does_not_wait(wharf: Wharf) -> None:
    wharf.door.seconds = 1.0
    wharf.put("a")
    wharf.put("b", "c")
    assert wharf.over == []
    await asyncio.sleep(1.5)
    assert wharf.door.out == [("agents.bank", ["a", "b", "c"])]
    assert wharf.over == ["a", "b", "c"]


async def test_what_comes_meanwhile_leaves_together(wharf: Wharf) -> None:
    wharf.door.seconds = 1.0
    wharf.put("a")
    await asyncio.sleep(0.5)
    wharf.put("b")
    wharf.put("c")
    await asyncio.sleep(2)
    assert wharf.door.out == [("agents.bank", ["a"]), ("agents.bank", ["b", "c"])]


async def test_what_was_refused_leaves_later_in_its_order(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a", "b")
    await asyncio.sleep(10)
    wharf.put("c")
    await asyncio.sleep(10)
    assert (wharf.door.tasks, wharf.over) == ([], [])
    wharf.shut()
    await asyncio.sleep(2)
    assert wharf.door.tasks == wharf.over == ["a", "b", "c"]
    failed = [event for event in wharf.events if event.name == "scheduler.publish_failed"]
    # Ever more slowly, and no more slowly than each second.
    assert 20 <= len(failed) <= 50


async def test_one_agent_holds_up_no_other(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a")
    await asyncio.sleep(1)
    wharf.put("b", agent=POST)
    await settle()
    assert wharf.door.tasks == ["b"]
    assert wharf.departures.unreached == {BANK}


async def test_an_agent_that_is_not_reached_is_reported_and_again_once_it_is(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a")
    await asyncio.sleep(0.02)
    assert wharf.changes == [{BANK}]
    wharf.shut()
    await asyncio.sleep(2)
    assert wharf.changes[-1] == frozenset()


async def test_requests_that_are_no_longer_wanted_do_not_leave(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a", "b")
    wharf.fates["a"] = Fate.LAPSE
    await asyncio.sleep(0.2)
    assert wharf.over == ["a"]
    wharf.shut()
    await asyncio.sleep(2)
    assert wharf.door.tasks == ["b"]


async def test_where_all_requests_lapsed_the_agent_is_unreached_until_lapsed_ones_leave_the_queue(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a", "b")
    wharf.fates |= {"a": Fate.LAPSE, "b": Fate.LAPSE}
    await asyncio.sleep(20)
    assert (wharf.over, wharf.departures.unreached) == (["a", "b"], frozenset({BANK}))
    wharf.shut()
    await asyncio.sleep(2)
    assert (wharf.departures.unreached, wharf.changes[-1]) == (frozenset(), frozenset())
    assert (wharf.over, wharf.door.tasks) == (["a", "b"], ["b"])
    # Expired long since: no Agent is given it.
    assert wharf.door.latest.complete_by == 0.0


async def test_requests_of_unknown_fate_wait(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a", "b")
    wharf.fates["a"] = Fate.WAIT
    await asyncio.sleep(0.01)
    wharf.shut()
    await asyncio.sleep(5)
    assert wharf.door.tasks == []
    wharf.fates["a"] = Fate.LEAVE
    await asyncio.sleep(2)
    assert wharf.door.tasks == ["a", "b"]


async def test_a_revocation_follows_what_it_withdraws(wharf: Wharf) -> None:
    wharf.door.seconds = 1.0
    wharf.put("a")
    wharf.departures.revoke(STEP)
    await asyncio.sleep(5)
    assert wharf.door.tasks == ["a", "not a"]


async def test_a_revocation_follows_all_that_is_before_it(wharf: Wharf) -> None:
    wharf.departures.put(BANK, [request(str(number)) for number in range(MOST_AT_ONCE)])
    wharf.put("a")
    wharf.departures.revoke(STEP)
    await settle()
    assert wharf.door.tasks[-2:] == ["a", "not a"]


async def test_no_more_leaves_at_once_than_may_fail_at_once(wharf: Wharf) -> None:
    wharf.departures.put(BANK, [request(str(number)) for number in range(MOST_AT_ONCE + 1)])
    await settle()
    assert [len(tasks) for _, tasks in wharf.door.out] == [MOST_AT_ONCE, 1]


async def test_a_bug_is_raised_where_it_is_looked_for(wharf: Wharf, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(queue: str, messages: Sequence[AgentMessage]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(wharf.door, "publish", broken)
    wharf.put("a")
    await settle()
    assert wharf.changes
    assert isinstance(wharf.departures.broken, ZeroDivisionError)


async def test_once_stopped_nothing_leaves(wharf: Wharf) -> None:
    wharf.shut(BANK)
    wharf.put("a")
    await asyncio.sleep(1)
    await wharf.departures.stop()
    wharf.shut()
    await asyncio.sleep(10)
    assert wharf.door.out == []
    assert asyncio.get_running_loop().time() > START
