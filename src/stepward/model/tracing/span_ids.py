"""The ids of a task's spans.

A task is a trace of its own. Its ids follow from what the records hold, so that every process that meets the task knows
them, also after a takeover or a restart, and nothing of them is stored.
"""

from __future__ import annotations

import re
from struct import Struct as Layout
from zlib import crc32

W3C = re.compile(r"00-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")
SAMPLED = 1
UID_LENGTH = 36
packed = Layout(">IHH").pack
"""Packs the 8 bytes of a span id."""


def trace_id(task: str) -> str:
    """The trace id of the task with that uid: the uid's digits, or those of its root's for a child task."""
    return f"{task[:UID_LENGTH].replace('-', ''):0>32}"


def task_span_id(task: str) -> bytes:
    """The id of the task's span; no attempt has the number 0."""
    return packed(crc32(task.encode()) or 1, 0, 0)


def attempt_span_id(task: str, run: int, key: str, attempt: int) -> bytes:
    """The id of the span of one attempt of a step; the rest of the uid of a child task distinguishes it from its
    siblings."""
    return packed(crc32((task[UID_LENGTH:] + key).encode()), run & 0xFFFF, attempt & 0xFFFF)
