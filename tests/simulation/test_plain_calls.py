"""Worlds whose messages in memory pass by plain calls: they have the same faults, and hold the same invariants."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextvars import Context

import pytest

from simulation.__main__ import Summary, main, results
from simulation.environment.faults import Rates
from simulation.environment.faulty_transport import REQUESTS, RESULT, FaultyTransport, VerbsAlone
from simulation.environment.loop import SimulationLoop
from simulation.environment.messages import DELAYS, Network
from simulation.invariants.history import Mirror
from simulation.invariants.rules import Rules
from simulation.reduction import CALM
from simulation.run import run_seed
from simulation.trace import Trace
from stepward.errors import TransportError
from stepward.model.messages.requests import Reply
from stepward.transport.memory.direct_queues import DirectQueue, direct_queues
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.transport.messages import reply

QUEUE = "replies.one"
PUTS = 20


class Broker:
    """Queues in memory, and one of them as a process reaches it by plain calls."""

    def __init__(self, loop: SimulationLoop) -> None:
        self.rates = Rates()
        self.memory = MemoryTransport(loop.instant)
        self._loop = loop
        self.trace = Trace(loop.instant, lambda: None)
        mirror = Mirror()
        rules = Rules(mirror, self.trace, loop.instant)
        network = Network(loop, lambda: self.rates, random.Random(1), self.trace, rules, mirror)
        self.transport = FaultyTransport(self.memory, network, loop.open_lane("p"), Context())

    @property
    def queue(self) -> DirectQueue:
        queues = direct_queues(self.transport)
        assert queues is not None
        return queues[QUEUE]

    def put(self) -> tuple[int, int]:
        """Put some messages; how many arrive at once, and how many later."""
        for _ in range(PUTS):
            self.queue.append([reply("a")])
        at_once = len(self.memory.queues[QUEUE].empty())
        self._loop.run_until_complete(self._loop.create_task(asyncio.sleep(max(DELAYS) + 1)))
        return at_once, len(self.memory.queues[QUEUE].empty())


@pytest.fixture
def broker() -> Iterator[Broker]:
    loop = SimulationLoop(random.Random(1))
    yield Broker(loop)
    loop.close()


def test_without_faults_each_message_arrives_once_and_at_once(broker: Broker) -> None:
    assert broker.put() == (PUTS, 0)
    assert broker.trace.situations == {RESULT: PUTS}


def test_messages_are_lost(broker: Broker) -> None:
    broker.rates.message_lost = 1.0
    assert broker.put() == (0, 0)


def test_messages_are_doubled(broker: Broker) -> None:
    broker.rates.message_doubled = 1.0
    assert sum(broker.put()) == 2 * PUTS


def test_messages_are_delayed(broker: Broker) -> None:
    broker.rates.message_delayed = 1.0
    at_once, later = broker.put()
    assert at_once < later
    assert at_once + later == PUTS


def test_results_are_garbled(broker: Broker) -> None:
    broker.rates.reply_garbled = 1.0
    broker.queue.append([reply("a")])
    (message,) = broker.memory.queues[QUEUE].empty()
    assert isinstance(message, Reply)
    assert message.output != reply("a").output


def test_a_put_is_refused(broker: Broker) -> None:
    broker.rates.queue_refuses = 1.0
    with pytest.raises(TransportError, match="simulated: publish was refused"):
        broker.queue.append([reply("a")])
    assert broker.memory.queues[QUEUE].empty() == []


def test_what_is_settled_never_returns(broker: Broker) -> None:
    broker.queue.append([reply("a")])
    (delivery,) = broker.memory.queues[QUEUE].take(1, 0.0, 9.0)
    assert broker.queue.taken.pop(delivery.token) == delivery
    assert broker.memory.queues[QUEUE].empty() == []


def test_where_the_queues_take_no_plain_calls_none_are_offered() -> None:
    assert direct_queues(VerbsAlone(lambda: 0.0)) is None
    assert not run_seed(3).situations.keys() & {REQUESTS, RESULT}


def test_a_few_seeds_hold_and_their_messages_pass_by_plain_calls() -> None:
    summary = Summary(is_direct=True)
    for result in results(range(8), None, 1, direct=True):
        assert not result.violations, f"seed {result.seed}: {result.violations[0]}"
        summary.add(result)
    assert summary.void is None
    assert {"message lost", "message doubled", "message delayed", "queue refuses"} <= set(summary.faults)


def test_a_run_in_which_no_message_passed_by_a_plain_call_is_void() -> None:
    summary = Summary(is_direct=True)
    summary.add(run_seed(3))
    assert summary.void == (
        "expected requests and results to pass by plain calls, found 0 puts of requests and 0 of results"
    )


def test_a_request_that_leaves_before_its_commit_is_found() -> None:
    bug = "dispatched_before_commit"
    result = next(result for result in results(range(20), bug, 1, CALM, direct=True) if result.violations)
    assert result.violations[0].startswith("S8: ")
    assert result.situations[REQUESTS] > 0


def test_the_command_says_how_often_and_how_to_run_a_seed_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1", "--jobs", "1", "--direct", "--calm", "--bug", "dispatched_before_commit"]) == 1
    told = capsys.readouterr().out
    assert "again: python -m simulation --seeds 1 --from 0 --direct\n" in told
    assert "\nby plain calls: 1 puts of requests and 0 of results\n" in told
