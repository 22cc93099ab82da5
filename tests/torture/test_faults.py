"""A fault counts as delivered only if it hit somebody at work."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from torture import faults
from torture.cluster import Cluster
from torture.faults import Faults
from torture.keeper import Actor
from torture.witness import Witness


class StandIn(Actor):
    """A process that only notes what it is told."""

    pid = 1
    is_ready = True

    def __init__(self, number: int) -> None:
        super().__init__("scheduler", number, Path(), {})
        self.told: list[signal.Signals] = []

    def signal(self, number: signal.Signals) -> None:
        self.told.append(number)


class Says(Witness):
    """A witness who has been told what to say."""

    def __init__(self, *, working: set[str], is_fenced: bool = True, are_committing: bool = True) -> None:
        self._working = working
        self._fenced = is_fenced
        self._committing = are_committing

    async def is_working(self, actor: Actor) -> bool:
        return actor.name in self._working

    async def is_fenced(self, actor: Actor) -> bool:
        return self._fenced

    async def are_committing(self) -> bool:
        return self._committing


class Servers(Cluster):
    """Servers to which nothing is done."""

    def __init__(self, *, cut: int = 3, waiting: int = 1) -> None:
        self._cut = cut
        self._waiting = waiting

    async def crash(self) -> None: ...

    async def fail_over(self) -> None: ...

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


def _faults(witness: Witness, actors: list[StandIn], cluster: Cluster | None = None) -> Faults:
    return Faults(cluster or Servers(), actors, witness, random.Random(7))


@pytest.mark.parametrize("verb", ["kill", "end", "pause"])
async def test_whoever_works_is_struck_and_it_counts(verb: str) -> None:
    idle, busy = StandIn(1), StandIn(2)
    struck = _faults(Says(working={busy.name}), [idle, busy])
    await struck.strike(f"{verb} scheduler")
    assert (struck.attempted.total(), struck.delivered.total()) == (1, 1)
    assert busy.told
    assert not idle.told


@pytest.mark.parametrize("verb", ["kill", "end", "pause"])
async def test_a_strike_at_somebody_idle_does_not_count(verb: str) -> None:
    idle = StandIn(1)
    struck = _faults(Says(working=set()), [idle])
    await struck.strike(f"{verb} scheduler")
    assert (struck.attempted.total(), struck.delivered.total()) == (1, 0)
    assert idle.told


async def test_a_pause_that_nobody_noticed_does_not_count() -> None:
    busy = StandIn(1)
    struck = _faults(Says(working={busy.name}, is_fenced=False), [busy])
    await struck.strike("pause scheduler")
    assert (struck.attempted.total(), struck.delivered.total()) == (1, 0)
    assert busy.told == [signal.SIGSTOP, signal.SIGCONT]


@pytest.mark.parametrize("name", ["crash of the primary", "failover", "connections cut"])
@pytest.mark.parametrize("works", [True, False])
async def test_what_is_done_to_servers_counts_if_they_were_used(name: str, works: bool) -> None:
    struck = _faults(Says(working=set(), are_committing=works), [])
    await struck.strike(name)
    assert (struck.attempted[name], struck.delivered[name]) == (1, works)


@pytest.mark.parametrize("waiting", [0, 2])
async def test_a_standby_held_counts_if_commits_waited_for_it(waiting: int) -> None:
    struck = _faults(Says(working=set()), [], Servers(waiting=waiting))
    await struck.strike("standby held")
    assert struck.delivered["standby held"] == (waiting > 0)
