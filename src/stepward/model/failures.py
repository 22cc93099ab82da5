"""Error objects: the record of a failed attempt, and of those before it.

The process that ran the attempt sends ``message``, ``type``, ``data``, ``at`` (file, line, function) and ``traceback``.
The record adds ``attempt``, ``maybe_done``, ``expired`` (attempts so far that ran out of time) and ``earlier`` (a
summary of the last failed attempts before this one).
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

from stepward.error_messages import RaisedInstead, message_of
from stepward.errors import InvalidPayload, Refused, Unrecoverable
from stepward.payload import decode, encode
from stepward.payload.secret_values import encode_custom, redacted

LONGEST_MESSAGE = 10_000
"""Most characters of a message."""
TRACEBACK_BYTES = 4096
"""Most characters of a traceback by default; of a longer one the end is kept."""
FRAMES = 30
"""Innermost frames kept of each exception in a traceback."""
EARLIER = 5
"""Failed attempts before the last one of which type, message and place are kept."""
SHORT_MESSAGE = 500
"""Most characters of the message of such an attempt."""
EXPIRED = "StepExpired"
"""The error type of an attempt that ran out of time."""
UNREADABLE = "UnreadableReply"
"""The error type of an attempt whose Agent sent something that cannot be recorded."""
SENT = ("message", "type", "data", "at", "traceback", "state")
INTERNAL = frozenset({"at", "traceback", "earlier", "failure"})
"""Fields that operators see and applications do not receive."""
HOLLOW = frozenset({"Error", "StepExpired", "StepFailed", "TaskEnded"})
"""Types that add nothing to the message."""
PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"
"""The folder of Stepward's own code."""

LIBRARIES = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
"""The folders of libraries that an application uses."""

Redact = Callable[[str], str]


class FailureConverter:
    """Converts exceptions to error objects; ``redact`` rewrites every text of them first."""

    def __init__(self, *, traceback_bytes: int = TRACEBACK_BYTES, redact: Redact | None = None) -> None:
        self._traceback_bytes = traceback_bytes
        self._redact = redact

    def convert(self, error: BaseException) -> bytes:
        """The error object; data that JSON cannot represent become text."""
        error = _raised(error)
        data: dict[str, Any] = error.data if isinstance(error, Unrecoverable) else {}
        fields = {"message": self.message(error), "type": type(error).__name__, **self.place(error)}
        try:
            return encode({**fields, "data": self._data(data)}, "error")
        except BaseException:  # Data that cannot be converted must not hide the error.
            text = self.text(_shown(data))
            return encode(
                {name: ascii(value)[1:-1] for name, value in fields.items()} | {"data": {"unreadable": text}}, "error"
            )

    def message(self, error: BaseException) -> str:
        """The message of an exception."""
        return self.text(message_of(_raised(error))[:LONGEST_MESSAGE])

    def place(self, error: BaseException) -> dict[str, str]:
        """``at`` and ``traceback``, without Stepward's own frames outside the application's function."""
        outermost = _outside(error.__traceback__)
        if outermost is None:
            return {}
        place = {"at": self.text(_innermost(outermost))}
        if self._traceback_bytes:
            place["traceback"] = self.text(_formatted(error, outermost))[-self._traceback_bytes :]
        return place

    def text(self, text: str) -> str:
        """A text of the application's, redacted."""
        return text if self._redact is None else _redacted(self._redact, text)

    def _data(self, data: dict[str, Any]) -> Any:
        found = redacted(msgspec.to_builtins(data, enc_hook=encode_custom))
        return found if self._redact is None else self._values(found)

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
    """An error object as ``Type: message``; for a failed step, with the type of its last attempt's exception."""
    failure, message = known.get("failure"), str(known.get("message", ""))
    kind = failure.get("type") if isinstance(failure, dict) else None
    kind = kind or known.get("type")
    return f"{kind}: {message}" if kind and kind not in HOLLOW else message


def brief(error: bytes | None) -> dict[str, Any]:
    """The fields of an event about a task's error: ``error``, ``type``, ``step``, ``at``, and ``traceback`` for the
    task's own.

    The traceback of a step's error was emitted with its last attempt.
    """
    known = read(error)
    failure = known.get("failure")
    of_step = failure if isinstance(failure, dict) else {}
    fields = {"error": known.get("message"), "type": known.get("type"), "step": known.get("step")}
    fields |= {"at": known.get("at") or of_step.get("at")}
    fields |= {"traceback": None if known.get("step") else known.get("traceback")}
    return {name: value for name, value in fields.items() if value}


def settled(error: bytes | None, *, attempt: int, maybe_done: bool, before: bytes | None) -> bytes:
    """The error object to record for a failed attempt; ``before`` is the step's error until then."""
    sent, known = read(error), read(before)
    fields = {name: sent[name] for name in SENT if sent.get(name) is not None}
    return recorded(
        {"type": "Error", "data": {}, **fields, "maybe_done": maybe_done, "attempt": attempt, **history(known, attempt)}
    )


def history(known: dict[str, Any], attempt: int) -> dict[str, Any]:
    """The summary of the attempts before ``attempt``, from the step's error until then."""
    kept = {"expired": known["expired"]} if isinstance(known.get("expired"), int) else {}
    earlier = [each for each in _list(known.get("earlier")) if isinstance(each, dict)]
    if known.get("message") and known.get("attempt") != attempt:
        earlier.append(_short(known))
    return {**kept, "earlier": earlier[-EARLIER:]} if earlier else kept


def recorded(error: dict[str, Any]) -> bytes:
    """An error object as it is recorded; data of an Agent that are too large or nested too deeply are left out."""
    try:
        return encode(error, "error")
    except Refused:
        return encode({**error, "data": {}}, "error")


def public(error: bytes) -> bytes:
    """An error object as applications receive it: without places, tracebacks and earlier attempts."""
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
    """The text is withheld if the application's function fails."""
    try:
        found = redact(text)
    except Exception as error:
        return f"(redact raised {type(error).__name__})"
    return found if isinstance(found, str) else f"(redact returned {type(found).__name__}, not str)"


def _outside(traceback: TracebackType | None) -> TracebackType | None:
    """The outermost frame that is not Stepward's own."""
    while traceback is not None and is_own(traceback.tb_frame.f_code):
        traceback = traceback.tb_next
    return traceback


def is_own(code: CodeType) -> bool:
    """Whether the code is Stepward's."""
    return code.co_filename.startswith(PACKAGE)


def _raised(error: BaseException) -> BaseException:
    return error.raised if isinstance(error, RaisedInstead) else error


def stands_at(coroutine: object) -> str | None:
    """Where suspended code waits (file, line, function); None if only Stepward's own code does."""
    frames: list[tuple[CodeType, int]] = []
    while isinstance(coroutine, CoroutineType) and coroutine.cr_frame is not None:
        frames.append((coroutine.cr_code, coroutine.cr_frame.f_lineno))
        coroutine = coroutine.cr_await
    return _place(frames) if any(not is_own(code) for code, _ in frames) else None


def _innermost(traceback: TracebackType) -> str:
    return _place([(frame.f_code, line) for frame, line in walk_tb(traceback)])


def _place(frames: list[tuple[CodeType, int]]) -> str:
    """The innermost frame of the application's own code; without one, the innermost that is not Stepward's."""
    foreign = [(code, line) for code, line in frames if not is_own(code)]
    own = [(code, line) for code, line in foreign if not code.co_filename.startswith(LIBRARIES)]
    code, line = (own or foreign)[-1]
    return _clean(f"{PurePath(code.co_filename).name}:{line} in {code.co_name}")


def _formatted(error: BaseException, outermost: TracebackType) -> str:
    try:
        return _clean("".join(format_exception(type(error), error, outermost, limit=-FRAMES)).rstrip())
    except Exception as broken:  # An exception whose own methods raise must not hide that it was raised.
        return f"(the traceback cannot be shown: {type(broken).__name__})"


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
