"""What a signal costs does not grow with how many waits go on beside it."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType

from stepward import wait_for, workflow
from stepward.model.records import Task
from stepward.workflow.decisions import Completed
from stepward.workflow.execution import Execution


@workflow()
async def choir(count: int) -> int:
    return sum(await asyncio.gather(*[wait_for(f"voice-{number % 7}", timeout="1h") for number in range(count)]))


def calls_of_signals(count: int) -> int:
    """How many functions of the package are called for a signal to each of so many waits."""
    task = Task(uid="uid-1", id="T-1", workflow="choir", version="1", input=b"[%d]" % count, created_at=0.0)
    execution = Execution(choir, task, [])
    execution.start(0.0)
    calls = 0

    def called(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and "stepward" in frame.f_code.co_filename

    sys.setprofile(called)
    try:
        for number in range(count):
            execution.signal(number + 1, f"voice-{number % 7}", b"1", 1.0)
            execution.take()
    finally:
        sys.setprofile(None)
    assert execution.ended == Completed(b"%d" % count)
    return calls


def test_a_signal_calls_as_many_functions_beside_thousands_of_waits_as_beside_hundreds() -> None:
    per_signal = [calls_of_signals(count) / count for count in (100, 1_000, 4_000)]
    assert max(per_signal) <= 1.2 * min(per_signal), per_signal
