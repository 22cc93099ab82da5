"""A fault counts as delivered only if it hit a working process."""

from __future__ import annotations

import asyncio
import random
import signal

import msgspec
import pytest

from tests.torture.test_oracle import RECORDED
from torture import report
from torture.application.keeper import ActorProcess
from torture.books import Records
from torture.faults import faults
from torture.faults.faults import Chaos, TortureFaults
from torture.faults.witness import Witness
from torture.servers.cluster import PostgresPair


class StandIn(ActorProcess):
    """A process that records its calls."""

    pid = 1
    is_running = True

    def __init__(self, number: int, role: str = "scheduler") -> None:
        self.role = role
        self.name = f"{role}-{number}"
        self.is_stopped = False
        self.told: list[signal.Signals] = []

    def signal(self, number: signal.Signals) -> None:
        self.told.append(number)


class Says(Witness):
    """A witness with a fixed answer."""

    def __init__(self, *, working: set[str], is_fenced: bool = True, are_committing: bool = True) -> None:
        self._working = working
        self._fenced = is_fenced
        self._committing = are_committing

    async def is_working(self, actor: ActorProcess) -> bool:
        return actor.name in self._working

    async def is_fenced(self, actor: ActorProcess) -> bool:
        return self._fenced

    async def are_committing(self) -> bool:
        return self._committing


class Servers(PostgresPair):
    """Servers to which nothing is done."""

    def __init__(self, *, cut: int = 3, waiting: int = 1) -> None:
        self._cut = cut
        self._waiting = waiting

    async def crash(self) -> None: ...

    async def fail_over(self, ahead: float = 0.0) -> None: ...

    async def cut(self) -> int:
        return self._cut

    def hold(self) -> None: ...

    def release(self) -> None: ...

    async def waiting(self) -> int:
        return self._waiting


@pytest.fixture(autouse=True)
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAST_LEASE", "HOLD_SECONDS"):
        monkeypatch.setattr(faults, name, (0.0, 0.0))
    monkeypatch.setattr(faults, "WORK_SECONDS", faults.LOOK_SECONDS)


def _faults(witness: Witness, actors: list[StandIn], cluster: PostgresPair | None = None) -> TortureFaults:
    return TortureFaults(cluster or Servers(), actors, witness, random.Random(7))


async def test_a_lasting_fault_does_not_block_others() -> None:
    busy, over = StandIn(1), asyncio.Event()
    struck = _faults(Says(working={busy.name}), [busy])
    struck.add({"snapshot held": Chaos(1, over.wait, lasts=True)})
    await struck.strike("snapshot held")
    await struck.strike("kill scheduler")
    assert (struck.delivered["kill scheduler"], struck.delivered["snapshot held"]) == (1, 0)
    over.set()
    await struck.heal()
    assert struck.delivered["snapshot held"] == 1


async def test_every_kind_is_drawn_once_before_any_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "PAUSE_SECONDS", (0.0, 0.0))
    busy = [StandIn(number, role) for number, role in enumerate(("scheduler", "agent", "supervisor", "submission"))]
    struck = _faults(Says(working={each.name for each in busy}), busy)
    drawn = asyncio.create_task(struck.run(60))
    while struck.missing:  # noqa: ASYNC110  nothing tells of a fault that was delivered
        await asyncio.sleep(0)
    drawn.cancel()
    await asyncio.wait([drawn])
    assert struck.attempted.total() <= len(struck.weights) + 1


@pytest.mark.parametrize(("seconds", "is_said"), [(179.0, False), (180.0, True)])
def test_a_long_runs_undelivered_faults_are_printed(seconds: float, is_said: bool) -> None:
    books = msgspec.json.decode(RECORDED.read_bytes(), type=Records)
    table = report.table(books, _faults(Says(working=set()), []), {}, seconds)
    assert ("NOT ONCE DELIVERED: kill scheduler," in table) == is_said


@pytest.mark.parametrize("verb", ["kill", "end", "pause"])
async def test_a_fault_at_a_working_process_counts(verb: str) -> None:
    idle, busy = StandIn(1), StandIn(2)
    struck = _faults(Says(working={busy.name}), [idle, busy])
    await struck.strike(f"{verb} scheduler")
    assert (struck.attempted.total(), struck.delivered.total()) == (1, 1)
    assert busy.told
    assert not idle.told


@pytest.mark.parametrize("verb", ["kill", "end", "pause"])
async def test_a_fault_at_an_idle_process_does_not_count(verb: str) -> None:
    idle = StandIn(1)
    struck = _faults(Says(working=set()), [idle])
    await struck.strike(f"{verb} scheduler")
    assert (struck.attempted.total(), struck.delivered.total()) == (1, 0)
    assert idle.told


async def test_a_pause_without_a_fence_does_not_count() -> None:
    busy = StandIn(1)
    struck = _faults(Says(working={busy.name}, is_fenced=False), [busy])
    await struck.strike("pause scheduler")
    assert (struck.attempted.total(), struck.delivered.total()) == (1, 0)
    assert busy.told == [signal.SIGSTOP, signal.SIGCONT]


@pytest.mark.parametrize("name", ["crash of the primary", "failover", "connections cut"])
@pytest.mark.parametrize("works", [True, False])
async def test_faults_at_servers_count_if_commits_were_running(name: str, works: bool) -> None:
    struck = _faults(Says(working=set(), are_committing=works), [])
    await struck.strike(name)
    assert (struck.attempted[name], struck.delivered[name]) == (1, works)


@pytest.mark.parametrize("waiting", [0, 2])
async def test_a_standby_held_counts_if_commits_waited_for_it(waiting: int) -> None:
    struck = _faults(Says(working=set()), [], Servers(waiting=waiting))
    await struck.strike("standby held")
    assert struck.delivered["standby held"] == (waiting > 0)
