"""The archive: retention writes tasks to compressed JSON lines before it deletes them.

A file holds one batch and is named after its content: written again after a crash, it replaces itself. It gets its name
when it is complete and on the disk; the tasks are deleted after that and never before.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from stepward.errors import ArchiveUnavailable
from stepward.large_payloads import PayloadKeeper
from stepward.store.contract import OldRecords, Outlived, RetentionStore
from stepward.supervisor.archives.archived_objects import copy_objects
from stepward.supervisor.archives.line_writer import ArchiveLines, record_lines
from stepward.supervisor.archives.tasks_to_archive import pieces

ENDING = ".jsonl.gz"
UNFINISHED = ".part"
RECORDS = "records"
"""The folder of deleted audit entries and alerts."""
FOLDER_MODE, FILE_MODE = 0o700, 0o600
UNFINISHED_KEPT_SECONDS = 86_400.0
COMPRESSION = 6
GZIP_WINDOW = 31
"""The largest window, in gzip's format."""


class Archive(Protocol):
    """A destination of tasks that the store deletes."""

    async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
        """Write all records of these tasks; False if one of them changed meanwhile, and nothing was written. Raises
        ArchiveUnavailable."""
        ...

    async def keep_records(self, records: OldRecords) -> None:
        """Write these audit entries and alerts. Raises ArchiveUnavailable."""
        ...


class FolderArchive:
    """An archive in a folder: a folder for each day, and in it a file for each batch whose first task ended then.

    ``writer`` distinguishes unfinished files from those of other processes. Large payloads that ``keeper`` keeps are
    copied into the folder of the day, as they are.
    """

    def __init__(self, folder: Path, writer: str, keeper: PayloadKeeper | None = None) -> None:
        self._folder = folder
        self._writer = writer
        self._objects = None if keeper is None else keeper.objects

    async def keep(self, store: RetentionStore, batch: Sequence[Outlived]) -> bool:
        """Compression and writing run in a thread."""
        lines = ArchiveLines()
        path = _path(self._folder, batch)
        async with self._file(path) as file:
            async for piece in pieces(store, [task.uid for task in batch]):
                await asyncio.to_thread(file.write, partial(lines.written, piece))
            # The records are complete only if no other process deleted or reopened a task meanwhile.
            if not await store.unchanged(batch):
                return False
            if self._objects is not None:
                await copy_objects(self._objects, path.parent, [task.uid for task in batch])
            await asyncio.to_thread(file.write, lines.ended)
            await asyncio.to_thread(file.finish)
        return True

    async def keep_records(self, records: OldRecords) -> None:
        async with self._file(_records_path(self._folder, records)) as file:
            await asyncio.to_thread(file.write, partial(record_lines, records))
            await asyncio.to_thread(file.finish)

    @asynccontextmanager
    async def _file(self, path: Path) -> AsyncIterator[_File]:
        """A file that gets its name once it is finished."""
        try:
            file = await asyncio.to_thread(_File, self._folder, self._writer, path)
            try:
                yield file
            finally:
                await asyncio.to_thread(file.close)
        except OSError as error:
            raise ArchiveUnavailable(
                f"archive {self._folder}: expected a folder that may be written, found: {error.strerror or error}; "
                "create it, make room there or allow writing: nothing is deleted meanwhile"
            ) from error


def folder_archive(folder: str | None, writer: str, keeper: PayloadKeeper | None = None) -> FolderArchive | None:
    """The archive that the setting names, if any."""
    return None if folder is None else FolderArchive(Path(folder), writer, keeper)


class _File:
    """A file of the archive while it is written.

    A thread whose caller was cancelled is waited for here.
    """

    def __init__(self, folder: Path, writer: str, path: Path) -> None:
        self._lock = threading.Lock()
        self._folder = folder
        self._path = path
        self._unfinished = folder / f".{self._path.name}.{hashlib.sha256(writer.encode()).hexdigest()[:12]}{UNFINISHED}"
        self._compress = zlib.compressobj(COMPRESSION, zlib.DEFLATED, GZIP_WINDOW)
        self._file = os.fdopen(os.open(self._unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb")
        _forget_unfinished(folder, os.fstat(self._file.fileno()).st_mtime)

    def write(self, lines: Callable[[], bytes]) -> None:
        """Write the produced chunks, in the thread."""
        with self._lock:
            self._file.write(self._compress.compress(lines()))

    def finish(self) -> None:
        """Flush everything to the disk, and then give the file its name."""
        with self._lock:
            self._file.write(self._compress.flush())
            self._file.flush()
            os.fsync(self._file.fileno())
            folders = self._path.parents[: len(self._path.relative_to(self._folder).parts)]
            for folder in reversed(folders[:-1]):
                folder.mkdir(FOLDER_MODE, exist_ok=True)
            self._unfinished.replace(self._path)
            for folder in folders:
                _sync(folder)

    def close(self) -> None:
        """Close the file, and delete one that was not finished."""
        with self._lock:
            self._unfinished.unlink(missing_ok=True)
            # On a full disk the buffer cannot be written, and need not be.
            with suppress(OSError):
                self._file.close()


def _path(folder: Path, batch: Sequence[Outlived]) -> Path:
    content = "\n".join(f"{task.uid} {task.finished_at!r}" for task in batch)
    return _named(folder, batch[0].finished_at, content)


def _records_path(folder: Path, records: OldRecords) -> Path:
    content = [*(act.hash.hex() for act in records.acts), *(f"{each.number} {each.at!r}" for each in records.alerts)]
    first = min([*(act.audit.at for act in records.acts), *(alert.at for alert in records.alerts)])
    return _named(folder / RECORDS, first, "\n".join(content))


def _named(folder: Path, at: float, content: str) -> Path:
    """A file for records that begin at an instant, named after its content."""
    first = datetime.fromtimestamp(at, UTC)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return folder / f"{first:%Y-%m-%d}" / f"{first:%H%M%S}-{digest}{ENDING}"


def _sync(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _forget_unfinished(folder: Path, now: float) -> None:
    """Delete unfinished files of writers that died a day ago, by the clock of the file system."""
    for path in folder.glob(f".*{ENDING}.*{UNFINISHED}"):
        try:
            if path.stat().st_mtime < now - UNFINISHED_KEPT_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue
