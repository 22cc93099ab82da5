"""Histories of archives, which hold payloads as the store held them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from stepward.model.records import Step, Task
from stepward.payload.sealed import PayloadCodec
from stepward.store.sealing.columns import STEP, TASK
from stepward.store.sealing.row_codec import RowCodec


def opened_history(codec: PayloadCodec, task: Task, steps: Sequence[Step]) -> tuple[Task, list[Step]]:
    """The task and its steps with payloads opened."""
    rows = RowCodec(codec, {}, {"task": TASK, "step": STEP})
    opened = rows.opened("step", [astuple(step) for step in steps])
    return (
        Task(**_fields(Task, rows.opened("task", [astuple(task)])[0])),
        [Step(**_fields(Step, row)) for row in opened],
    )


def _fields(record: type[Task] | type[Step], row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(record.__struct_fields__, row, strict=True))
