"""Finds whose code an event loop is running, from the frames of its thread, so that nothing is recorded beforehand."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from types import CodeType, FrameType
from typing import Any, NamedTuple

from stepward.agent.call_lifecycle import Calls
from stepward.model.messages.requests import Request
from stepward.scheduler.dispatch.local_steps import LocalSteps
from stepward.submission.accept_calls import AcceptCalls
from stepward.workflow.event_loop.loop import WorkflowLoop

DEBUGGERS = ("bdb", "pdb", "pydevd", "_pydevd_bundle", "debugpy")
OURS = f"{Path(__file__).parents[2]}/"
LIBRARY = f"{sysconfig.get_path('stdlib')}/"
PACKAGES = "site-packages"
DEEPEST = 10_000
"""Most frames that are looked at."""


class Blamed(NamedTuple):
    """Running code of the application; ``task`` is the uid of its task, None if it belongs to none."""

    what: str
    task: str | None
    at: str


def blame(frame: FrameType | None) -> Blamed:
    """The code that runs in that frame or one that it called."""
    frames = list(_frames(frame))
    for number, outer in enumerate(frames):
        find = FINDERS.get(outer.f_code)
        found = None if find is None else find(outer.f_locals)
        if found is not None:
            return Blamed(*found, at=_place(frames[:number]))
    return Blamed("code of no task", None, _place(frames))


def is_debugged(frame: FrameType | None) -> bool:
    """Whether a debugger holds the thread."""
    return any(str(each.f_globals.get("__name__")).partition(".")[0] in DEBUGGERS for each in _frames(frame))


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames, the innermost first."""
    for _ in range(DEEPEST):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _place(frames: list[FrameType]) -> str:
    """The application's own innermost line, or else the innermost of all."""
    own = (each for each in frames if not _is_library(each.f_code.co_filename))
    frame = next(own, frames[0] if frames else None)
    if frame is None:
        return "unknown"
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"


def _is_library(path: str) -> bool:
    return path.startswith((OURS, "<")) or (path.startswith(LIBRARY) and PACKAGES not in path)


def _of_workflow(local: dict[str, Any]) -> tuple[str, str | None] | None:
    task = getattr(local["self"].engine, "task", None)
    return None if task is None else (f"task {task.id} ({task.workflow}@{task.version})", task.uid)


def _of_call(local: dict[str, Any]) -> tuple[str, str | None]:
    return _of_request(local["call"].request)


def _of_local_step(local: dict[str, Any]) -> tuple[str, str | None]:
    return _of_request(local["request"])


def _of_request(request: Request) -> tuple[str, str | None]:
    return f"step {request.key} of task {request.task_id}", request.task


def _of_message(local: dict[str, Any]) -> tuple[str, str | None]:
    return f"accept of message {local['message'].id!r:.100}", None


FINDERS: dict[CodeType, Callable[[dict[str, Any]], tuple[str, str | None] | None]] = {
    WorkflowLoop._inside.__code__: _of_workflow,
    Calls._perform.__code__: _of_call,
    LocalSteps._perform.__code__: _of_local_step,
    AcceptCalls._called.__code__: _of_message,
}
"""The functions within which the loop runs code of the application, and how its task is found."""
