"""The archive: what stands in its files, and that no task is lost or half there whatever happens on the way."""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stepward.errors import ArchiveUnavailable
from stepward.model.records import InboxRow, Step, Task
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Outlived, RetentionStore, SignalSeen, Store, StreamRow, UpdateRow, WrittenRow
from stepward.store.sqlite import SqliteStore
from stepward.supervisor.archives.folder_archive import FolderArchive
from stepward.supervisor.archives.tasks_to_archive import PIECE_BYTES, pieces
from stepward.supervisor.retention import purging
from tests.store.conformance.world import DONE, World, add_steps, claimed, end, scheduler, step

BEFORE = 2e9


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(lambda environment: SqliteStore(f"file:{tmp_path}?vfs=memdb", app="shop", environment=environment))
    yield world
    await world.close()


@pytest.fixture
async def store(world: World) -> Store:
    store = await world.open()
    await scheduler(store)
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


async def ended(world: World, store: Store, *steps: dict[str, Any], **fields: Any) -> Task:
    task = await claimed(world, store, **fields)
    made = [step(task, f"charge/{n}", n, state=StepState.COMPLETED, **more) for n, more in enumerate(steps, 1)]
    await add_steps(store, task, *made)
    await end(store, task, TaskState.PROCESSED, output=DONE, at=store.now())
    found = await store.client.task(task.id)
    assert found is not None
    return found


async def purge(store: Store, archive: FolderArchive) -> int:
    return sum(
        [count async for count in purging(store.supervisor, archive, BEFORE, lambda batch: delete(store, batch))]
    )


async def delete(store: Store, batch: Sequence[Outlived]) -> Any:
    return await store.operators.purge_ended(batch, BEFORE, "test")


def lines(folder: Path) -> list[dict[str, Any]]:
    """Every line of the archive, file after file."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class TestLines:
    async def test_a_line_holds_all_that_the_store_had(self, world: World, store: Store, folder: Path) -> None:
        task = await claimed(world, store, input=b'["A-1",4200]', labels=b'{"city":"Ulm"}')
        await store.client.signal(task.id, "paid", b'{"by":"card"}', "p-1")
        await add_steps(store, task, step(task, state=StepState.COMPLETED, output=DONE, started_at=store.now()))
        await end(store, task, TaskState.PROCESSED, output=b'"parcel"', inbox=1, at=store.now())
        assert await purge(store, FolderArchive(folder, "me")) == 1
        (line,) = lines(folder)
        assert [line[name] for name in ("format", "uid", "id", "state")] == [1, task.uid, task.id, "processed"]
        assert [line[name] for name in ("input", "output", "labels")] == [["A-1", 4200], "parcel", {"city": "Ulm"}]
        assert line["finished_at"] == "2027-01-15T08:00:00.001000Z"
        assert set(line) == {
            "format",
            *Task.__struct_fields__,
            "steps",
            "untaken",
            "signals",
            "values",
            "streams",
            "updates",
        }
        (charge,) = line["steps"]
        assert set(charge) == set(Step.__struct_fields__) - {"task"}
        assert [charge[name] for name in ("key", "state", "input", "output")] == [
            "charge/1",
            "completed",
            [],
            {"ok": True},
        ]
        (untaken,) = line["untaken"]
        assert set(untaken) == set(InboxRow.__struct_fields__) - {"task"}
        assert (untaken["kind"], untaken["body"]) == ("signal", {"by": "card"})
        assert line["signals"] == [{"name": "paid", "id": "p-1"}]

    @pytest.mark.parametrize(
        ("data", "found"),
        [
            (b'[1,\r\n "a\\nb"]', [1, "a\nb"]),
            (b"123456789012345678901234567890", 123456789012345678901234567890),
            (b"no JSON", {"base64": "bm8gSlNPTg=="}),
            (b'"\xff"', {"base64": "Iv8i"}),
            (b"[" * 5000, {"base64": "W1tb" * 1666 + "W1s="}),
        ],
    )
    async def test_every_payload_fits_into_a_line(
        self, world: World, store: Store, folder: Path, data: bytes, found: object
    ) -> None:
        await ended(world, store, {"output": data}, {"error": DONE})
        await purge(store, FolderArchive(folder, "me"))
        (line,) = lines(folder)
        assert line["steps"][0]["output"] == found
        assert line["steps"][1]["error"] == {"ok": True}

    async def test_each_task_has_its_own(self, world: World, store: Store, folder: Path) -> None:
        large = b'"%s"' % (b"x" * (PIECE_BYTES // 2))
        counts = (0, 3, 0, 1, 1200, 0)
        for number, count in enumerate(counts):
            await ended(
                world, store, *[{"output": large if m < 2 else DONE} for m in range(count)], id=f"task-{number}"
            )
        await purge(store, FolderArchive(folder, "me"))
        found = {line["id"]: [each["number"] for each in line["steps"]] for line in lines(folder)}
        assert found == {f"task-{number}": list(range(1, count + 1)) for number, count in enumerate(counts)}


class TestFiles:
    async def test_a_file_lies_in_the_folder_of_its_day_and_is_the_owners_alone(
        self, world: World, store: Store, folder: Path
    ) -> None:
        await ended(world, store)
        await purge(store, FolderArchive(folder, "me"))
        (name,) = files(folder)
        assert name.startswith("2027-01-15/080000-")
        assert [(folder / part).stat().st_mode & 0o777 for part in (name, "2027-01-15")] == [0o600, 0o700]

    async def test_written_again_after_a_crash_a_batch_takes_its_own_place(
        self, world: World, store: Store, folder: Path
    ) -> None:
        for _ in range(3):
            await ended(world, store)
        batch = await store.supervisor.outlived(BEFORE, 9)
        assert await FolderArchive(folder, "dies before it deletes").keep(store.supervisor, batch)
        (before,) = files(folder)
        content = (folder / before).read_bytes()
        assert await purge(store, FolderArchive(folder, "another")) == 3
        assert files(folder) == [before]
        assert (folder / before).read_bytes() == content
        assert len(lines(folder)) == 3

    async def test_it_gets_its_name_when_it_is_whole_and_on_the_disk(
        self, world: World, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await ended(world, store)
        seen: list[tuple[str, list[str]]] = []
        sizes: list[int] = []
        sync, rename = os.fsync, Path.replace

        def synced(descriptor: int) -> None:
            seen.append((Path(f"/proc/self/fd/{descriptor}").readlink().suffix, lines_of_names(folder)))
            sizes.append(os.fstat(descriptor).st_size)
            sync(descriptor)

        def renamed(path: Path, target: Path) -> Path:
            seen.append(("rename", lines_of_names(folder)))
            return rename(path, target)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(Path, "replace", renamed)
        await purge(store, FolderArchive(folder, "me"))
        # The file, its name, then both folders that lead to it.
        assert [what for what, _ in seen] == [".part", "rename", "", ""]
        assert [len(named) for _, named in seen] == [0, 0, 1, 1]
        assert sizes[0] == next(folder.rglob("*.jsonl.gz")).stat().st_size

    async def test_files_of_a_writer_that_died_a_day_ago_are_deleted(
        self, world: World, store: Store, folder: Path
    ) -> None:
        old, young, foreign = (folder / name for name in (".1.jsonl.gz.a.part", ".2.jsonl.gz.b.part", "notes.part"))
        for path in (old, young, foreign):
            path.write_text("half")
        now = young.stat().st_mtime
        for path, age in ((old, 86_500), (young, 86_000), (foreign, 999_999)):
            os.utime(path, (now - age, now - age))
        await ended(world, store)
        await purge(store, FolderArchive(folder, "me"))
        assert [path.exists() for path in (old, young, foreign)] == [False, True, True]


def lines_of_names(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.jsonl.gz")]


class TestFaults:
    async def test_a_folder_that_is_missing_is_not_made(self, world: World, store: Store, folder: Path) -> None:
        task = await ended(world, store)
        with pytest.raises(ArchiveUnavailable, match=r"gone: expected a folder .* found: No such file.* nothing is"):
            await purge(store, FolderArchive(folder / "gone", "me"))
        assert await store.client.task(task.id)
        assert not (folder / "gone").exists()

    @pytest.mark.parametrize("call", ["fsync", "mkdir"])
    async def test_on_a_full_disk_nothing_is_deleted_and_nothing_half_is_left(
        self, world: World, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        task = await ended(world, store)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            with pytest.raises(ArchiveUnavailable, match="found: No space left on device"):
                await purge(store, FolderArchive(folder, "me"))
        assert await store.client.task(task.id)
        assert files(folder) == []
        assert await purge(store, FolderArchive(folder, "me")) == 1

    async def test_a_device_that_takes_nothing(
        self, world: World, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("no /dev/full here")
        task = await ended(world, store, *[{"output": b'"%s"' % os.urandom(5000).hex().encode()}] * 9)
        opened = os.open
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", lambda path, flags, mode=0o777: opened("/dev/full", os.O_WRONLY))
            with pytest.raises(ArchiveUnavailable, match="No space left"):
                await purge(store, FolderArchive(folder, "me"))
        assert await store.client.task(task.id)

    async def test_tasks_deleted_meanwhile_are_not_archived_in_part(
        self, world: World, store: Store, folder: Path
    ) -> None:
        tasks = [await ended(world, store, {"output": DONE}) for _ in range(2)]
        deleted = Deleting(store, tasks[1].uid)
        batch = await store.supervisor.outlived(BEFORE, 9)
        assert not await FolderArchive(folder, "paused").keep(deleted, batch)
        assert files(folder) == []

    async def test_records_of_a_deleted_task_are_not_attributed_to_another(self, world: World, store: Store) -> None:
        tasks = [await ended(world, store, {"output": DONE}) for _ in range(2)]
        found = [
            item async for piece in pieces(Half(store, tasks[0].uid), [task.uid for task in tasks]) for item in piece
        ]
        assert found == [tasks[1], *await store.client.steps(tasks[1].id)]

    async def test_a_cancelled_write_leaves_no_file(self, world: World, store: Store, folder: Path) -> None:
        await ended(world, store)
        hanging = Hanging(store, "")
        keeping = asyncio.create_task(
            FolderArchive(folder, "me").keep(hanging, await store.supervisor.outlived(BEFORE, 9))
        )
        await hanging.asked.wait()
        assert len(files(folder)) == 1
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        assert files(folder) == []


class Deleting:
    """A store in which another one deletes a task after the tasks were read and before their steps are."""

    def __init__(self, store: Store, uid: str) -> None:
        self._store = store
        self._uid = uid
        self.asked = asyncio.Event()

    async def outlived(self, before: float, limit: int) -> list[Outlived]:
        return await self._store.supervisor.outlived(before, limit)

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        return await self._store.supervisor.outlived_tasks(uids, after)

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        gone = [task for task in await self._store.supervisor.outlived(BEFORE, 9) if task.uid == self._uid]
        await delete(self._store, gone)
        return await self._store.supervisor.outlived_steps(uids, after)

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        return await self._store.supervisor.outlived_inbox(uids, after)

    async def outlived_signals(self, uids: Sequence[str], after: tuple[str, str, str]) -> list[SignalSeen]:
        return await self._store.supervisor.outlived_signals(uids, after)

    async def outlived_values(self, uids: Sequence[str], after: tuple[str, str]) -> list[WrittenRow]:
        return await self._store.supervisor.outlived_values(uids, after)

    async def outlived_streams(self, uids: Sequence[str], after: tuple[str, str, int]) -> list[StreamRow]:
        return await self._store.supervisor.outlived_streams(uids, after)

    async def outlived_updates(self, uids: Sequence[str], after: tuple[str, str]) -> list[UpdateRow]:
        return await self._store.supervisor.outlived_updates(uids, after)

    async def unchanged(self, batch: Sequence[Outlived]) -> bool:
        return await self._store.supervisor.unchanged(batch)


class Half(Deleting):
    """A store in which a task is gone, and its steps are not yet."""

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        return [task for task in await super().outlived_tasks(uids, after) if task.uid != self._uid]

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        return await self._store.supervisor.outlived_steps(uids, after)


class Hanging(Deleting):
    """A store that does not answer any more."""

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


def test_the_doubles_have_the_shape_of_the_store() -> None:
    shape: type[RetentionStore] = Hanging
    assert shape is Hanging
