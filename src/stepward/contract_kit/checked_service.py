"""The remote service that the Agent under test calls: records every call, and answers as the check plans it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

from stepward.contract_kit.observed_changes import Changes

CALL, UNDO = "/call", "/undo"
"""The paths of the service."""
UNAVAILABLE = 503
MOST_CASES = 10_000


class ServiceReply(Struct, frozen=True):
    """The service's answer to a call."""

    status: int
    body: Any = None


class ServiceCall(Struct):
    """A call that the service received; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any
    began_at: float
    ended_at: float | None = None
    is_cut: bool = False
    """Whether the Agent closed the connection before the answer."""

    @property
    def key(self) -> str:
        """Its idempotency key; empty if there was none."""
        return self.headers.get("idempotency-key", "")


class ServiceCase:
    """The calls of one request of a check, and how the service answers them.

    A held case answers nothing until ``release``.
    """

    def __init__(self, number: int, *, is_held: bool) -> None:
        self.body = {"case": number}
        """The argument of the operation ``call``, which the Agent sends to the service."""
        self.calls: list[ServiceCall] = []
        self.reply = ServiceReply(200, {"done": number})
        self.most_at_once = 0
        """Most calls that were under way at one time."""
        self._under_way = 0
        self._released = asyncio.Event()
        if not is_held:
            self._released.set()

    def release(self) -> None:
        """Answer the calls from now on."""
        self._released.set()

    async def answer(self, call: ServiceCall) -> ServiceReply:
        """Record a call, and answer it once the case is released."""
        self.calls.append(call)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            await self._released.wait()
        finally:
            self._under_way -= 1
        return self.reply

    @property
    def is_cut(self) -> bool:
        """Whether it was called, and the Agent closed the connection of every call before the answer."""
        return bool(self.calls) and all(call.is_cut for call in self.calls)


class CheckedService:
    """The service; ``now`` is the clock of the run."""

    def __init__(self, now: Callable[[], float], changes: Changes) -> None:
        self._now = now
        self._changes = changes
        self._cases: dict[int, ServiceCase] = {}
        self._numbers = count(1)

    def case(self, reply: ServiceReply | None = None, *, is_held: bool = False) -> ServiceCase:
        """A new case, which is answered with success unless another reply is given."""
        number = next(self._numbers)
        case = self._cases[number] = ServiceCase(number, is_held=is_held)
        if reply is not None:
            case.reply = reply
        if len(self._cases) > MOST_CASES:
            del self._cases[next(iter(self._cases))]
        return case

    def release_all(self) -> None:
        """Answer all calls that are held, so that the next check finds an idle Agent."""
        for case in self._cases.values():
            case.release()

    async def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> ServiceReply:
        """Answer a call; cancelled when the Agent closes the connection."""
        content = _decoded(body)
        case = self._cases.get(_number(content, path))
        if case is None or path not in (CALL, UNDO):
            return ServiceReply(404, {"title": "expected the argument of a request as the body of POST /call or /undo"})
        call = ServiceCall(path=path, headers=headers, body=content, began_at=self._now())
        self._changes.notify()
        try:
            return await case.answer(call)
        except asyncio.CancelledError:
            call.is_cut = True
            raise
        finally:
            call.ended_at = self._now()
            self._changes.notify()


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _number(content: Any, path: str) -> int:
    """The number of the case that a body names; 0 if it names none."""
    argument = content.get("argument") if path == UNDO and isinstance(content, dict) else content
    number = argument.get("case") if isinstance(argument, dict) else None
    return number if isinstance(number, int) else 0
