"""What the Supervisor does about old tasks: when, how many at once, and what keeps it from deleting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepward.clock import SystemClock
from stepward.errors import ArchiveUnavailable
from stepward.model.records import Audit
from stepward.store.contract import AuditedAct, OldRecords, Outlived, RetentionStore
from stepward.supervisor import Supervisor
from stepward.supervisor.retention import BATCH
from tests.supervisor.conftest import Bench, FakeSink, beside
from tests.virtual import VirtualLoop

FULL = "archive /mnt: expected a folder that may be written, found: No space left on device"


async def passes(bench: Bench, supervisor: Supervisor, seconds: int) -> None:
    """A pass each second, and what goes on beside them."""
    for _ in range(seconds):
        bench.store.time += 1
        await supervisor.turn()
        await beside()


class FakeArchive:
    """Remembers what it was given; ``keeps`` is asked before each batch."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.kept: list[int] = []
        self.kept_acts = 0
        self.error = ""
        self.changing = 0

    async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
        if self.error:
            raise ArchiveUnavailable(self.error)
        if self.changing:
            self.changing -= 1
            return False
        self.kept.append(len(batch))
        # Nothing of it is gone before it is kept.
        assert await self._bench.store.unchanged(batch)
        return True

    async def keep_records(self, records: OldRecords) -> None:
        if self.error:
            raise ArchiveUnavailable(self.error)
        self.kept_acts += len(records.acts)
        # Nothing of it is gone before it is kept.
        assert self._bench.store.acts[: len(records.acts)] == records.acts


def act(number: int, at: float) -> AuditedAct:
    return AuditedAct(Audit(number=number, at=at, actor="supervisor", act="repeat"), b"")


class TestAudit:
    async def test_old_acts_are_archived_and_deleted_beside_the_tasks(self, bench: Bench) -> None:
        bench.store.acts = [act(1, 850.0), act(2, 950.0)]
        archive = FakeArchive(bench)
        await bench.supervisor(archive=archive, retention="100s").once()
        assert ([each.audit.number for each in bench.store.acts], archive.kept_acts) == ([2], 1)
        assert [event.fields for event in bench.told if event.name == "records.pruned"] == [{"count": 1}]

    @pytest.mark.parametrize(("is_archived", "retention"), [(False, "100s"), (True, "never")])
    async def test_without_an_archive_or_an_age_the_audit_stays(
        self, bench: Bench, is_archived: bool, retention: str
    ) -> None:
        bench.store.acts = [act(1, 0.0)]
        await bench.supervisor(archive=FakeArchive(bench) if is_archived else None, retention=retention).once()
        assert len(bench.store.acts) == 1

    async def test_an_archive_that_cannot_be_written_keeps_the_audit(self, bench: Bench) -> None:
        bench.store.acts = [act(1, 0.0)]
        archive = FakeArchive(bench)
        archive.error = FULL
        await bench.supervisor(archive=archive, retention="100s").once()
        assert len(bench.store.acts) == 1

    async def test_a_deposed_leader_stops_pruning(self, bench: Bench) -> None:
        bench.store.acts, bench.store.valid_term = [act(1, 0.0)], 2
        await bench.supervisor(archive=FakeArchive(bench), retention="100s").once()
        assert (bench.store.calls.count("prune"), len(bench.store.acts)) == (1, 1)


class TestWhen:
    async def test_ended_tasks_past_the_retention_go_once_a_minute(self, bench: Bench) -> None:
        supervisor = bench.supervisor(retention="100s")
        bench.store.ended_at = [850.0, 950.0, 990.0]
        await passes(bench, supervisor, 1)
        assert bench.store.ended_at == [950.0, 990.0]
        await passes(bench, supervisor, 59)
        assert bench.store.ended_at == [950.0, 990.0]
        await passes(bench, supervisor, 1)
        assert bench.store.ended_at == [990.0]

    @pytest.mark.parametrize(("retention", "pause"), [("30d", 3600), ("1h", 360), ("1m", 60)])
    async def test_an_archive_gets_few_files(self, bench: Bench, retention: str, pause: int) -> None:
        supervisor = bench.supervisor(archive=FakeArchive(bench), retention=retention)
        await passes(bench, supervisor, pause)
        assert bench.store.calls.count("purge") == 1
        await passes(bench, supervisor, 1)
        assert bench.store.calls.count("purge") == 2

    async def test_never_means_never_for_tasks_and_messages_expire_all_the_same(self, bench: Bench) -> None:
        bench.store.ended_at = [0.0]
        archive = FakeArchive(bench)
        await bench.supervisor(archive=archive, retention="never").once()
        assert bench.store.calls.count("purge") == 1
        assert (bench.store.ended_at, archive.kept) == ([0.0], [])


class TestHowMuch:
    async def test_batch_follows_batch_until_nothing_is_left(self, bench: Bench) -> None:
        bench.store.ended_at = [number / 10_000 for number in range(2 * BATCH + 7)]
        report = await bench.supervisor(retention="100s").once()
        assert (report.purged, bench.store.ended_at) == (2 * BATCH + 7, [])
        assert [event.fields for event in bench.told if event.name == "tasks.purged"] == [
            {"count": count, "archived": False} for count in (BATCH, BATCH, 7)
        ]

    async def test_a_large_task_goes_in_as_many_pieces_as_it_takes(self, bench: Bench) -> None:
        bench.store.ended_at, bench.store.left = [0.0], 3
        await bench.supervisor(retention="100s").once()
        assert bench.store.left == 0

    async def test_a_deposed_leader_stops_deleting(self, bench: Bench) -> None:
        bench.store.ended_at, bench.store.valid_term = [0.0], 2
        archive = FakeArchive(bench)
        assert (await bench.supervisor(archive=archive, retention="100s").once()).purged == 0
        assert (bench.store.ended_at, archive.kept) == ([0.0], [1])


class TestBesideThePasses:
    async def test_a_slow_archive_holds_up_no_pass(self, bench: Bench) -> None:
        started, go_on = asyncio.Event(), asyncio.Event()

        class Slow(FakeArchive):
            async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
                started.set()
                await go_on.wait()
                return await super().keep(store, batch)

        bench.store.ended_at = [0.0]
        supervisor = bench.supervisor(archive=Slow(bench), retention="100s")
        await supervisor.turn()
        await started.wait()
        for _ in range(120):
            bench.store.time += 1
            await supervisor.turn()
            await asyncio.sleep(0)
        # One at a time, and no task is deleted before it is archived.
        assert bench.store.calls.count("outlived") == 1
        assert "purge" not in bench.store.calls
        go_on.set()
        await beside()
        assert bench.store.ended_at == []

    def test_it_rests_for_as_long_as_it_works(self) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, VirtualLoop)
            assert runner.run(_rested(loop)) == pytest.approx([0.3 + 0.3, 0.3 + 0.3, 0.3], abs=0.01)

    async def test_a_supervisor_that_ends_gives_up(self, bench: Bench) -> None:
        started = asyncio.Event()

        class Hanging(FakeArchive):
            async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
                started.set()
                await asyncio.Event().wait()
                raise AssertionError("nobody sets it")

        bench.store.ended_at = [0.0]
        supervisor = bench.supervisor(archive=Hanging(bench), retention="100s")
        await supervisor.turn()
        await started.wait()
        await supervisor.close()
        assert bench.store.ended_at == [0.0]

    async def test_an_archive_error_is_reported_and_retried(self, bench: Bench) -> None:
        class Broken(FakeArchive):
            async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
                raise RuntimeError("a bug")

        bench.store.ended_at = [0.0]
        supervisor = bench.supervisor(archive=Broken(bench), retention="100s")
        await passes(bench, supervisor, 61)
        assert bench.names().count("supervisor.broke") == 2
        assert bench.store.ended_at == [0.0]


class LoopClock(SystemClock):
    """Shows the loop's time."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def boot(self) -> float:
        return self._loop.time()


async def _rested(loop: VirtualLoop) -> list[float]:
    """How long it is from the end of one batch to the end of the next, and from the start to that of the first."""
    bench, ends = Bench(), list[float]()

    class Slow(FakeArchive):
        async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
            await asyncio.sleep(0.3)
            ends.append(loop.time())
            return True

    bench.store.ended_at = [number / 10_000 for number in range(2 * BATCH + 7)]
    supervisor = bench.supervisor(archive=Slow(bench), retention="100s", clock=LoopClock(loop))
    began = loop.time()
    await supervisor.turn()
    await beside()
    first, second, third = ends
    return [third - second, second - first, first - began]


class TestArchive:
    async def test_tasks_are_archived_before_deletion(self, bench: Bench) -> None:
        bench.store.ended_at = [number / 10_000 for number in range(BATCH + 7)]
        archive = FakeArchive(bench)
        report = await bench.supervisor(archive=archive, retention="100s").once()
        assert (report.purged, archive.kept) == (BATCH + 7, [BATCH, 7])

    async def test_while_the_archive_cannot_be_written_nothing_is_deleted_and_one_alert_is_raised(
        self, bench: Bench
    ) -> None:
        bench.store.ended_at = [0.0]
        archive = FakeArchive(bench)
        archive.error = FULL
        supervisor = bench.supervisor(FakeSink("log"), archive=archive, retention="30d")
        bench.store.time = 1e9
        await passes(bench, supervisor, 181)
        assert bench.store.ended_at == [0.0]
        assert "purge" not in bench.store.calls
        assert [alert.kind for alert in bench.store.alerts.values()] == ["archive"]
        assert [event.fields for event in bench.told if event.name == "archive.unavailable"] == [{"error": FULL}]

    async def test_it_is_tried_again_within_a_minute(self, bench: Bench) -> None:
        bench.store.time, bench.store.ended_at = 1e9, [0.0]
        archive = FakeArchive(bench)
        archive.error = FULL
        supervisor = bench.supervisor(archive=archive, retention="30d")
        await passes(bench, supervisor, 60)
        assert bench.store.ended_at == [0.0]
        assert [alert.acknowledged_at is None for alert in bench.store.alerts.values()] == [True]
        archive.error = ""
        await passes(bench, supervisor, 1)
        assert [alert.acknowledged_at is None for alert in bench.store.alerts.values()] == [False]
        assert bench.store.ended_at == []

    async def test_a_batch_that_changed_meanwhile_is_read_again(self, bench: Bench) -> None:
        bench.store.ended_at = [0.0]
        archive = FakeArchive(bench)
        archive.changing = 2
        assert (await bench.supervisor(archive=archive, retention="100s").once()).purged == 1

    async def test_one_that_changes_again_and_again_waits_for_the_next_time(self, bench: Bench) -> None:
        bench.store.ended_at = [0.0]
        archive = FakeArchive(bench)
        archive.changing = 99
        assert (await bench.supervisor(archive=archive, retention="100s").once()).purged == 0
        assert bench.store.calls.count("outlived") == 3
        assert bench.store.ended_at == [0.0]
