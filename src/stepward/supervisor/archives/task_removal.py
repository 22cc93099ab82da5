"""Erasure of tasks from an archive: its files are rewritten without them, one after the other.

A file is replaced whole, under its own name, once the new one is on the disk: a process that dies at any point leaves
each file as it was or as it is to be. Acts of the audit keep their hashes, and have a mark in place of their details.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw

from stepward.errors import ArchiveUnavailable
from stepward.large_payloads import folder_of
from stepward.model.records import Audit
from stepward.store.contract import AuditedAct
from stepward.store.rules.audit.audit_chain import DELETED, EMPTY, MARK
from stepward.supervisor.archives.archived_objects import OBJECTS
from stepward.supervisor.archives.audit_reader import LONGEST_LINE, archived_acts
from stepward.supervisor.archives.folder_archive import ENDING, FILE_MODE, UNFINISHED
from stepward.supervisor.archives.line_writer import ACT, ALERT


class _Line(msgspec.Struct):
    """What says whose a line is."""

    uid: str = ""
    record: str = ""
    task: str | None = None
    act: str = ""


def acts_on(folder: Path, uids: Collection[str]) -> list[AuditedAct]:
    """The archived acts on these tasks that still have details. Raises ArchiveUnavailable.

    Deletions keep theirs, which quote no payload and show that what they erased was erased by them.
    """
    return [act for act in archived_acts(folder) if act.audit.task in uids and _has_details(act.audit)]


def _has_details(audit: Audit) -> bool:
    return audit.act != DELETED and audit.details not in (EMPTY, MARK)


def erase_tasks(folder: Path, uids: Sequence[str], failpoint: Callable[[str], None]) -> int:
    """Rewrites every file that has something of these tasks; the number of files. Raises ArchiveUnavailable."""
    wanted = re.compile(b"|".join(re.escape(msgspec.json.encode(uid)) for uid in uids))
    changed = 0
    try:
        for path in sorted(folder.rglob(f"*{ENDING}")):
            if any(wanted.search(line) for line in _lines(path)) and _rewrite(path, frozenset(uids), wanted, failpoint):
                changed += 1
        for uid in uids:
            for objects in folder.glob(f"*/{OBJECTS}/{OBJECTS}/{folder_of(uid)}"):
                shutil.rmtree(objects)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise ArchiveUnavailable(
            f"archive {folder}: expected files that can be rewritten without deleted tasks, found: {error}; "
            "make them readable and allow writing: the tasks stay noted meanwhile"
        ) from error
    return changed


def _rewrite(path: Path, uids: frozenset[str], wanted: re.Pattern[bytes], failpoint: Callable[[str], None]) -> bool:
    unfinished = path.with_name(f".{path.name}.erasure{UNFINISHED}")
    is_changed = False
    kept = 0
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb") as file:
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
            for line in _lines(path):
                left = _without(line, uids) if wanted.search(line) else line
                is_changed |= left != line
                kept += left is not None
                packed.write(left or b"")
        file.flush()
        os.fsync(file.fileno())
    failpoint("archive.erase.before")
    if not is_changed:
        unfinished.unlink()
    elif kept:
        unfinished.replace(path)
    else:
        path.unlink()
        unfinished.unlink()
    _sync(path.parent)
    failpoint("archive.erase.after")
    return is_changed


def _without(line: bytes, uids: frozenset[str]) -> bytes | None:
    """The line without these tasks; None where nothing is left of it."""
    found = msgspec.json.decode(line, type=_Line)
    if found.record == ACT and found.task in uids:
        fields = msgspec.json.decode(line, type=dict[str, Raw])
        if found.act == DELETED or bytes(fields["details"]) == EMPTY:
            return line
        fields["details"] = Raw(MARK)
        return msgspec.json.encode(fields) + b"\n"
    is_theirs = found.uid in uids or (found.record == ALERT and found.task in uids)
    return None if is_theirs else line


def _lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        while line := file.readline(LONGEST_LINE):
            yield line


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
