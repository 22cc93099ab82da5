"""The audit's entries in an archive, read back from its files in order, and the heads that were written there.

An entry may be in two files if a process died between archiving and deleting; it is given once.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from stepward.errors import ArchiveUnavailable
from stepward.model.records import Audit
from stepward.store.contract import AuditedAct, AuditHead
from stepward.supervisor.archives.folder_archive import ENDING, RECORDS
from stepward.supervisor.archives.line_writer import ACT, HEAD, bytes_of

L = TypeVar("L")

PLAIN_ENDING = ".jsonl"
"""Of a file that is not compressed."""
LONGEST_LINE = 256 * 1024 * 1024
"""Bytes beyond which a line is no record."""


class RecordLine(msgspec.Struct, frozen=True):
    """A line of a file of records, as far as the chain needs it; the fields of an act are those of its hash."""

    record: str
    number: int
    hash: str = ""
    instant: float = 0.0
    actor: str = ""
    act: str = ""
    task: str | None = None
    step: str | None = None
    before: str | None = None
    after: str | None = None
    details: msgspec.Raw = msgspec.Raw(b"{}")


def archived_heads(folder: Path) -> set[AuditHead]:
    """the heads of the whole audit in the files. Raises ArchiveUnavailable for what cannot be read."""
    lines = (line for path in _paths(folder) for line in _lines(path))
    return {AuditHead(line.number, _hash(line)) for line in lines if line.record == HEAD}


def archived_acts(folder: Path) -> Iterator[AuditedAct]:
    """The entries by number. Raises ArchiveUnavailable for what cannot be read."""
    last = 0
    for path in sorted(_paths(folder), key=_first_number):
        for line in _lines(path):
            if line.record == ACT and line.number > last:
                last = line.number
                yield _audited(line)


def _paths(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ArchiveUnavailable(f"archive {folder}: expected the folder of an archive, found none; name another")
    return sorted((folder / RECORDS).glob(f"*/*{ENDING}"))


def _first_number(path: Path) -> int:
    """Entries come first in a file."""
    return next((line.number for line in _lines(path) if line.record == ACT), 0)


def _lines(path: Path) -> Iterator[RecordLine]:
    return read_lines(path, RecordLine)


def read_lines(path: Path, form: type[L]) -> Iterator[L]:
    """The lines of a file of the archive, each decoded. Raises ArchiveUnavailable."""
    try:
        with path.open("rb") if path.suffix == PLAIN_ENDING else gzip.open(path, "rb") as file:
            while line := file.readline(LONGEST_LINE):
                yield msgspec.json.decode(line, type=form)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise ArchiveUnavailable(f"archive {path}: expected a file as retention wrote it, found: {error}") from error


def _audited(line: RecordLine) -> AuditedAct:
    audit = Audit(
        number=line.number,
        at=line.instant,
        actor=line.actor,
        act=line.act,
        task=line.task,
        step=line.step,
        before=line.before,
        after=line.after,
        details=bytes_of(line.details),
    )
    return AuditedAct(audit, _hash(line))


def _hash(line: RecordLine) -> bytes:
    """The hash as it is written; what is none equals no other."""
    try:
        return bytes.fromhex(line.hash)
    except ValueError:
        return b""
