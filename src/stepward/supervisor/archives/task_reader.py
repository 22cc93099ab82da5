"""The tasks in an archive, read back from its files with their steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import NODEFAULT, Raw, Struct, structs

from stepward.errors import ArchiveUnavailable
from stepward.model.records import Step, Task
from stepward.model.states import StepState, TaskState
from stepward.supervisor.archives.audit_reader import PLAIN_ENDING, read_lines
from stepward.supervisor.archives.folder_archive import ENDING, RECORDS
from stepward.supervisor.archives.line_writer import FORMAT, ArchiveLines, bytes_of

R = TypeVar("R", bound=Struct)

NULL = b"null"
WITH_OUTPUT = frozenset({TaskState.PROCESSED, StepState.COMPLETED})
"""In these states an output of null is a value."""


def archived_tasks(place: Path) -> Iterator[tuple[Task, list[Step]]]:
    """Each task in a file or folder, with its steps; one that was archived twice is given twice.

    Raises ArchiveUnavailable for what cannot be read.
    """
    if not place.exists():
        raise ArchiveUnavailable(f"archive {place}: expected a file or folder of histories, found none; name another")
    for path in [place] if place.is_file() else _files(place):
        for fields in read_lines(path, dict[str, Raw]):
            yield _history(path, fields)


def history_line(task: Task, steps: Iterable[Step]) -> bytes:
    """A task with its steps as a line of the archive."""
    lines = ArchiveLines()
    return lines.written([task, *steps]) + lines.ended()


def history_of(line: bytes) -> tuple[Task, list[Step]]:
    """The task of one line, and its steps. Raises ArchiveUnavailable."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, Raw])
    except msgspec.DecodeError as error:
        raise ArchiveUnavailable(f"history: expected a line of an archive, found: {error}") from error
    return _history("line", fields)


def _files(folder: Path) -> list[Path]:
    """The files of tasks; those of the audit and of alerts are apart."""
    found = [path for ending in (ENDING, PLAIN_ENDING) for path in folder.rglob(f"*{ending}")]
    return sorted(path for path in found if RECORDS not in path.relative_to(folder).parts)


def _history(path: Path | str, fields: Mapping[str, Raw]) -> tuple[Task, list[Step]]:
    try:
        written = bytes(fields.get("format", NULL)).decode()
        if written != str(FORMAT):
            raise ValueError(f"lines of the format {written}, and not {FORMAT}")
        task = _record(Task, fields)
        given = msgspec.json.decode(fields.get("steps", Raw(b"[]")), type=list[dict[str, Raw]])
        uid = Raw(msgspec.json.encode(task.uid))
        return task, [_record(Step, {**each, "task": uid}) for each in given]
    except (ValueError, KeyError, msgspec.MsgspecError) as error:
        raise ArchiveUnavailable(f"archive {path}: expected a file as retention wrote it, found: {error}") from error


def _record(record: type[R], fields: Mapping[str, Raw]) -> R:
    """The record of which these are the fields; those that it lacks have their defaults."""
    types = _types(record)
    found = {name: _value(fields[name], *types[name]) for name in _present(record, fields)}
    if found["output"] is None and found["state"] in WITH_OUTPUT:
        found["output"] = NULL
    return record(**found)


def _present(record: type[Struct], fields: Mapping[str, Raw]) -> Iterator[str]:
    for name, is_required in _names(record):
        if name in fields:
            yield name
        elif is_required:
            raise ValueError(f"no field {name}")


# msgspec evaluates the annotations each time that it is asked: nine tenths of a replay from a file.
@cache
def _names(record: type[Struct]) -> list[tuple[str, bool]]:
    """The fields of a record, and whether each is required."""
    return [(field.name, field.default is NODEFAULT) for field in structs.fields(record)]


def _value(raw: Raw, type_: Any, is_optional: bool) -> Any:
    if is_optional and bytes(raw) == NULL:
        return None
    if type_ is bytes:
        return bytes_of(raw)
    if type_ is float and bytes(raw).startswith(b'"'):
        return datetime.fromisoformat(msgspec.json.decode(raw, type=str)).timestamp()
    return msgspec.json.decode(raw, type=type_)


@cache
def _types(record: type[Struct]) -> dict[str, tuple[Any, bool]]:
    """The type of each field, and whether it may be None."""
    return {name: _type(hint) for name, hint in get_type_hints(record).items()}


def _type(hint: Any) -> tuple[Any, bool]:
    if not isinstance(hint, UnionType):
        return hint, False
    (found,) = (each for each in get_args(hint) if each is not type(None))
    return found, True
