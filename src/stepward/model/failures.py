"""Error objects: what is recorded of a failed attempt, and of those before it.

Whoever ran the attempt sends ``message``, ``type``, ``data``, ``at`` (file, line, function) and ``traceback``. The
record adds ``attempt``, ``maybe_done``, ``expired`` (attempts so far that ran out of time) and ``earlier`` (the last
failed attempts before this one, in short).
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from traceback import format_exception, walk_tb
from types import CodeType, CoroutineType, TracebackType
from typing import Any

import msgspec

from stepward.errors import InvalidPayload, RaisedInstead, Refused, Unrecoverable, message_of
from stepward.payload import decode, encode

LONGEST_MESSAGE = 10_000
"""Characters of a message."""
TRACEBACK_BYTES = 4096
"""Characters of a traceback, unless the settings say otherwise; the end of a longer one is kept."""
FRAMES = 30
"""Innermost frames of each exception that a traceback shows."""
EARLIER = 5
"""Failed attempts before the last one of which the type, message and place are kept."""
SHORT_MESSAGE = 500
"""Characters of the message of such an attempt."""
EXPIRED = "StepExpired"
"""The type of the error of an attempt that ran out of time."""
UNREADABLE = "UnreadableReply"
"""The type of the error of an attempt whose Agent sent what cannot be recorded."""
SENT = ("message", "type", "data", "at", "traceback", "state")
INTERNAL = frozenset({"at", "traceback", "earlier", "failure"})
"""What operators read of an error and applications are not sent."""
HOLLOW = frozenset({"Error", "StepExpired", "StepFailed", "TaskEnded"})
"""Types that say nothing beside the message."""
PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"
"""Where Stepward's own frames come from."""

LIBRARIES = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
"""Where code comes from that an application only uses."""

Redact = Callable[[str], str]


class FailureConverter:
    """Turns exceptions into error objects; ``redact`` rewrites every text of them before anybody else sees it."""

    def __init__(self, *, traceback_bytes: int = TRACEBACK_BYTES, redact: Redact | None = None) -> None:
        self._traceback_bytes = traceback_bytes
        self._redact = redact

    def convert(self, error: BaseException) -> bytes:
        """The error object; data that JSON cannot hold is told as text."""
        error = _raised(error)
        data: dict[str, Any] = error.data if isinstance(error, Unrecoverable) else {}
        told = {"message": self.message(error), "type": type(error).__name__, **self.place(error)}
        try:
            return encode({**told, "data": self._data(data)}, "error")
        except BaseException:  # data that nothing can be made of must not hide what happened
            text = self.text(_shown(data))
            return encode(
                {name: ascii(value)[1:-1] for name, value in told.items()} | {"data": {"unreadable": text}}, "error"
            )

    def message(self, error: BaseException) -> str:
        """What an exception says."""
        return self.text(message_of(_raised(error))[:LONGEST_MESSAGE])

    def place(self, error: BaseException) -> dict[str, str]:
        """``at`` and ``traceback``, without the frames of Stepward that called the application's function."""
        outermost = _outside(error.__traceback__)
        if outermost is None:
            return {}
        place = {"at": self.text(_innermost(outermost))}
        if self._traceback_bytes:
            place["traceback"] = self.text(_formatted(error, outermost))[-self._traceback_bytes :]
        return place

    def text(self, text: str) -> str:
        """A text of the application's, as anybody else may see it."""
        return text if self._redact is None else _redacted(self._redact, text)

    def _data(self, data: dict[str, Any]) -> Any:
        return data if self._redact is None else self._values(msgspec.to_builtins(data))

    def _values(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self._values(each) for name, each in value.items()}
        return [self._values(each) for each in value] if isinstance(value, list) else value


def read(error: bytes | None) -> dict[str, Any]:
    """The fields of a recorded error object; none if there is no error, or none that can be read."""
    if error is None:
        return {}
    try:
        found: dict[str, Any] = decode(error, "error", dict[str, Any])
    except InvalidPayload:
        return {}
    return found


def titled(known: Mapping[str, Any]) -> str:
    """An error object as ``Type: message``, of a failed step with the type that its last attempt raised."""
    failure, message = known.get("failure"), str(known.get("message", ""))
    kind = failure.get("type") if isinstance(failure, dict) else None
    kind = kind or known.get("type")
    return f"{kind}: {message}" if kind and kind not in HOLLOW else message


def brief(error: bytes | None) -> dict[str, Any]:
    """What an event tells of a task's error: ``error``, ``type``, ``step``, ``at``; of one of its own ``traceback``.

    That of a step was told with its last attempt.
    """
    known = read(error)
    failure = known.get("failure")
    of_step = failure if isinstance(failure, dict) else {}
    told = {"error": known.get("message"), "type": known.get("type"), "step": known.get("step")}
    told |= {"at": known.get("at") or of_step.get("at")}
    told |= {"traceback": None if known.get("step") else known.get("traceback")}
    return {name: value for name, value in told.items() if value}


def settled(error: bytes | None, *, attempt: int, maybe_done: bool, before: bytes | None) -> bytes:
    """The error object that is recorded for a failed attempt; ``before`` is what stood on the step until then."""
    sent, known = read(error), read(before)
    told = {name: sent[name] for name in SENT if sent.get(name) is not None}
    return recorded(
        {"type": "Error", "data": {}, **told, "maybe_done": maybe_done, "attempt": attempt, **history(known, attempt)}
    )


def history(known: dict[str, Any], attempt: int) -> dict[str, Any]:
    """What is kept of the attempts before ``attempt``, of which the error that stood on the step tells."""
    kept = {"expired": known["expired"]} if isinstance(known.get("expired"), int) else {}
    earlier = [each for each in _list(known.get("earlier")) if isinstance(each, dict)]
    if known.get("message") and known.get("attempt") != attempt:
        earlier.append(_short(known))
    return {**kept, "earlier": earlier[-EARLIER:]} if earlier else kept


def recorded(error: dict[str, Any]) -> bytes:
    """An error object as it is kept; data of an Agent that are too large or too deep are left out."""
    try:
        return encode(error, "error")
    except Refused:
        return encode({**error, "data": {}}, "error")


def public(error: bytes) -> bytes:
    """An error object as applications are sent it: without places, tracebacks and earlier attempts."""
    fields = read(error)
    return encode({name: value for name, value in fields.items() if name not in INTERNAL}, "error")


def _short(known: dict[str, Any]) -> dict[str, Any]:
    short = {name: known[name] for name in ("attempt", "type", "at") if known.get(name) is not None}
    return {**short, "message": str(known["message"])[:SHORT_MESSAGE]}


def _shown(data: object) -> str:
    try:
        return ascii(data)[:LONGEST_MESSAGE]
    except BaseException as error:
        return f"(data that cannot be shown: {type(error).__name__})"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _redacted(redact: Redact, text: str) -> str:
    """Nothing of the text goes out where the application's function fails."""
    try:
        found = redact(text)
    except Exception as error:
        return f"(redact raised {type(error).__name__})"
    return found if isinstance(found, str) else f"(redact returned {type(found).__name__}, not str)"


def _outside(traceback: TracebackType | None) -> TracebackType | None:
    """The outermost entry that is not Stepward's own."""
    while traceback is not None and is_own(traceback.tb_frame.f_code):
        traceback = traceback.tb_next
    return traceback


def is_own(code: CodeType) -> bool:
    """Whether the code is Stepward's."""
    return code.co_filename.startswith(PACKAGE)


def _raised(error: BaseException) -> BaseException:
    return error.raised if isinstance(error, RaisedInstead) else error


def stands_at(coroutine: object) -> str | None:
    """Where code that is suspended waits (file, line, function); None if only code of Stepward's does."""
    frames: list[tuple[CodeType, int]] = []
    while isinstance(coroutine, CoroutineType) and coroutine.cr_frame is not None:
        frames.append((coroutine.cr_code, coroutine.cr_frame.f_lineno))
        coroutine = coroutine.cr_await
    return _place(frames) if any(not is_own(code) for code, _ in frames) else None


def _innermost(traceback: TracebackType) -> str:
    return _place([(frame.f_code, line) for frame, line in walk_tb(traceback)])


def _place(frames: list[tuple[CodeType, int]]) -> str:
    """The innermost frame of the application's own code; where there is none, the innermost that is not ours."""
    foreign = [(code, line) for code, line in frames if not is_own(code)]
    own = [(code, line) for code, line in foreign if not code.co_filename.startswith(LIBRARIES)]
    code, line = (own or foreign)[-1]
    return _clean(f"{PurePath(code.co_filename).name}:{line} in {code.co_name}")


def _formatted(error: BaseException, outermost: TracebackType) -> str:
    try:
        return _clean("".join(format_exception(type(error), error, outermost, limit=-FRAMES)).rstrip())
    except Exception as broken:  # an exception whose own methods break must not hide that it was raised
        return f"(the traceback cannot be shown: {type(broken).__name__})"


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
