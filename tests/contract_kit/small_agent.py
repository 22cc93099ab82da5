"""An Agent of the contract in a few lines of Python, without Stepward's own Agent; ``wrong`` breaks it in one place.

``WRONG`` holds the ways in which it can be wrong, each with the one check that finds it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

from stepward.errors import TransportError
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.open_broker import Opening

WRONG = {
    "answers-nothing": "answers",
    "leaves-out-null": "answers",
    "announces-nothing": "announces",
    "announces-rarely": "announces",
    "makes-up-proofs": "proof",
    "leaves-out-store": "proof",
    "names-no-agent": "proof",
    "refuses-attributes": "unknown-attributes",
    "reads-part-of-a-batch": "batch",
    "ignores-unknown": "unknown-operation",
    "own-result": "result",
    "key-per-call": "key",
    "sends-no-trace": "headers",
    "sends-no-complete-by": "headers",
    "refusals-may-pass": "failed",
    "outages-are-final": "gave-up",
    "never-in-doubt": "maybe-done",
    "always-in-doubt": "maybe-done",
    "bare-errors": "error",
    "counts-one-call": "calls",
    "remembers-outcomes": "attempts",
    "undoes-by-doing": "undo",
    "progress-without-proof": "progress",
    "performs-expired": "expired",
    "never-cuts": "cut-off",
    "answers-late": "silent",
    "keeps-no-lease": "lease",
    "calls-twice-at-once": "duplicate",
    "answers-once": "lost-reply",
    "ignores-revocations": "revoked",
    "silent-when-revoked": "revoked",
    "forgets-revocations": "revoked-before",
    "answers-returned": "revoked-returned",
    "serves-every-store": "other-store",
    "sends-any-size": "oversized",
    "begins-all-of-a-batch": "concurrency",
    "one-at-a-time": "concurrency",
    "takes-all": "prefetch",
    "drops-mixed-batches": "mixed-batch",
    "dies-of-bad-bodies": "bad-body",
    "acknowledges-first": "redelivery",
    "drops-its-work-at-the-end": "drains",
    "exits-with-1": "drains",
    "takes-on-at-the-end": "takes-no-more",
    "ends-unannounced": "announces-end",
}
RARELY = 10
MOST_READ = 7
NEVER = float("inf")
Post = Callable[[str, Mapping[str, str], bytes], Awaitable[tuple[int, Any]]]
"""Calls the service: path, headers and body in, status and JSON out."""
Answer = dict[str, Any]


class SmallAgent:
    """Serves the Agent ``contract`` of an application; also the intake of its queue's source."""

    def __init__(
        self,
        broker: Opening,
        post: Post,
        *,
        store: str,
        lease: float,
        capacity: int,
        now: Callable[[], float],
        app: str = "contract",
        wrong: str = "",
    ) -> None:
        self._broker, self._post, self._store, self._lease, self._now = broker, post, store, lease, now
        self._wrong = wrong
        self._capacity = capacity
        self._room = asyncio.Semaphore(1 if wrong == "one-at-a-time" else capacity)
        self._source = broker.source("agents.contract", cast(Any, self))
        self._name = f"/stepward/{app}/agents.contract"
        self._ident = f"/stepward/{app}/small-{uuid4()}"
        self._calls: dict[tuple[str, ...], asyncio.Task[Answer]] = {}
        self._revoked: dict[tuple[str, ...], int] = {}
        self._remembered: dict[str, Answer] = {}
        self._messages: dict[asyncio.Task[None], Any] = {}
        self._changed = asyncio.Event()
        self._is_ending = False
        self._broken: Exception | None = None

    async def run(self) -> int:
        """Serve until ``end``; the exit code."""
        await self._broker.open(self._broadcast, lambda _: None, self._store)
        await self._broker.prepare("agents.contract", self._lease)
        beside = [asyncio.create_task(self._announce()), asyncio.create_task(self._keep_leases())]
        try:
            await self._take()
        finally:
            for task in [*beside, *self._messages]:
                task.cancel()
            await self._broker.close()
        return 1 if self._wrong == "exits-with-1" or self._broken else 0

    def end(self) -> None:
        """Take nothing more, and let ``run`` return when all is answered."""
        self._is_ending = True
        self._changed.set()

    async def _take(self) -> None:
        while not self._broken:
            if self._is_ending and self._wrong != "ends-unannounced":
                await self._announce_once(0)
            if self._is_ending and self._wrong != "takes-on-at-the-end":
                await self._source.rest()
            if self._is_ending and (not self._messages or self._wrong == "drops-its-work-at-the-end"):
                break
            room = 100 if self._wrong == "takes-all" else self._capacity - len(self._messages)
            seconds = 1.0
            if room > 0 and (not self._is_ending or self._wrong == "takes-on-at-the-end"):
                seconds = await self._source.ask(room, self._lease)
            elif room <= 0:
                await self._source.rest()
            self._changed.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def arrived(self, _: str, handle: Any, body: bytes, __: float, *, again: bool) -> None:
        if self._is_ending and self._wrong != "takes-on-at-the-end":
            task = asyncio.create_task(self._refuse(handle))
        else:
            task = asyncio.create_task(self._serve(handle, body, again))
        self._messages[task] = handle
        task.add_done_callback(self._served)

    async def _refuse(self, handle: Any) -> None:
        await self._source.refuse([handle])

    def stir(self) -> None:
        self._changed.set()

    prune = forget = stir

    async def refuse_lapsed(self) -> None: ...

    def _served(self, task: asyncio.Task[None]) -> None:
        self._messages.pop(task, None)
        self._changed.set()
        if not task.cancelled() and task.exception() and not isinstance(task.exception(), TransportError):
            self._broken = cast(Exception, task.exception())

    async def _announce(self) -> None:
        while self._wrong != "announces-nothing":
            if not self._is_ending:
                await self._announce_once(self._capacity)
            await asyncio.sleep(self._lease / 3 * (RARELY if self._wrong == "announces-rarely" else 1))

    async def _announce_once(self, capacity: int) -> None:
        event = {
            "specversion": "1.0",
            "type": "stepward.capacity",
            "id": str(uuid4()),
            "source": self._ident,
            "subject": "agents.contract",
            "capacity": capacity,
            "inflight": min(len(self._messages), 100),
        }
        await self._broker.broadcast(json.dumps(event).encode())

    async def _keep_leases(self) -> None:
        while self._wrong != "keeps-no-lease":
            await asyncio.sleep(self._lease / 3)
            await self._source.extend(list(self._messages.values()), self._lease)

    def _broadcast(self, body: bytes) -> None:
        event = json.loads(body)
        if event["type"] == "stepward.revocation":
            step = _step(event)
            self._revoked[step] = event.get("attempt", 0)
            if step in self._calls and self._wrong != "ignores-revocations":
                self._calls[step].cancel("revoked")

    async def _serve(self, handle: Any, body: bytes, is_returned: bool) -> None:
        if self._wrong == "acknowledges-first":
            await self._source.acknowledge([handle])
        requests = self._requests(body)
        await asyncio.gather(*(self._dealt_with(request, is_returned) for request in requests))
        await self._source.acknowledge([handle])

    def _requests(self, body: bytes) -> list[Answer]:
        try:
            events = json.loads(body)
        except (ValueError, RecursionError):
            if self._wrong == "dies-of-bad-bodies":
                raise
            return []
        events = events if isinstance(events, list) else [events]
        good = [each for each in events if isinstance(each, dict) and {"operation", "replyto"} <= each.keys()]
        if self._wrong == "drops-mixed-batches" and len(good) < len(events):
            return []
        if self._wrong == "refuses-attributes":
            good = [each for each in good if "tenant" not in each]
        return good[:MOST_READ] if self._wrong == "reads-part-of-a-batch" else good

    async def _dealt_with(self, request: Answer, is_returned: bool) -> None:
        step = _step(request)
        is_unknown = request["operation"] == "contract.no_such_operation"
        if self._wrong == "answers-nothing" or (self._wrong == "ignores-unknown" and is_unknown):
            return
        if request["store"] != self._store and self._wrong != "serves-every-store":
            return
        if request["attempt"] <= self._revoked.get(step, -1):
            if is_returned and self._wrong != "answers-returned":
                return
            if self._wrong != "forgets-revocations" or is_returned:
                await self._reply(request, {"outcome": "gave_up", "data": {"message": "revoked"}})
                return
        if step in self._calls and self._wrong != "calls-twice-at-once":
            return  # the call under way answers both
        async with nullcontext() if self._wrong == "begins-all-of-a-batch" else self._room:
            await self._perform(request, step)

    async def _perform(self, request: Answer, step: tuple[str, ...]) -> None:
        complete_by = datetime.fromisoformat(request["expirytime"]).timestamp()
        left = complete_by - self._now()
        if left <= 0 and self._wrong != "performs-expired":
            return
        attempt = f"{request['idempotencykey']} {request['attempt']}"
        if self._wrong == "answers-once" and attempt in self._remembered:
            return
        answer = await self._answer(request, step, left)
        if answer is None or (left > 0 and complete_by <= self._now() and self._wrong != "answers-late"):
            return
        self._remembered[attempt] = answer
        await self._reply(request, answer)

    async def _answer(self, request: Answer, step: tuple[str, ...], left: float) -> Answer | None:
        """The answer to an attempt; a request that comes after it is answered for itself."""
        call = self._calls[step] = asyncio.create_task(self._called(request))
        try:
            await asyncio.wait([call], timeout=left if left > 0 and self._wrong != "never-cuts" else None)
            if not call.done():
                call.cancel()
                await asyncio.wait([call])
                return {"outcome": "gave_up", "data": {"message": "late"}} if self._wrong == "answers-late" else None
            if call.cancelled():
                stopped = {"outcome": "gave_up", "maybedone": True, "data": {"message": "revoked"}}
                return None if self._wrong == "silent-when-revoked" else stopped
            return call.result()
        finally:
            call.cancel()
            self._calls.pop(step, None)

    async def _called(self, request: Answer) -> Answer:
        operation, undo = request["operation"].removeprefix("contract."), request.get("undo", False)
        if operation == "echo" and not undo:
            return _completed(request["data"][0])
        if operation == "fill" and not undo:
            return _completed("x" * request["data"][0])
        if operation == "report" and not undo:
            for value in request["data"][0]:
                await self._progress(request, value)
            return _completed(len(request["data"][0]))
        if operation == "call":
            return await self._call_service(request, undo)
        return {"outcome": "failed", "data": {"message": f"no operation {operation}", "type": "UnknownOperation"}}

    async def _call_service(self, request: Answer, undo: bool) -> Answer:
        key = request["idempotencykey"]
        if self._wrong == "remembers-outcomes" and key in self._remembered:
            return self._remembered[key]
        headers = {
            "idempotency-key": str(uuid4()) if self._wrong == "key-per-call" else key,
            "stepward-complete-by": "" if self._wrong == "sends-no-complete-by" else request["expirytime"],
            "traceparent": "" if self._wrong == "sends-no-trace" else request["traceparent"],
            "stepward-undoes": request.get("undoes", ""),
        }
        path, body = "/call", request["data"][-1]
        if undo and self._wrong != "undoes-by-doing":
            path, body = "/undo", {"result": request["data"][0], "argument": request["data"][1]}
        status, content = await self._post(path, headers, json.dumps(body).encode())
        if status == 503 and self._wrong == "counts-one-call":
            status, content = await self._post(path, headers, json.dumps(body).encode())
        self._remembered[key] = self._outcome(status, content)
        return self._remembered[key]

    def _outcome(self, status: int, content: Any) -> Answer:
        if status < 300:
            return _completed("done" if self._wrong == "own-result" else content)
        error: Any = {"message": f"found {status}", "type": "Refused", "data": {"status": status}}
        error = "refused" if self._wrong == "bare-errors" else error
        if status == 503 and self._wrong != "outages-are-final":
            return {"outcome": "gave_up", "maybedone": self._wrong != "never-in-doubt", "data": error}
        if status == 503:
            return {"outcome": "failed", "maybedone": True, "data": error}
        outcome = "gave_up" if self._wrong == "refusals-may-pass" else "failed"
        return {"outcome": outcome, "maybedone": self._wrong == "always-in-doubt", "data": error}

    async def _progress(self, request: Answer, value: Any) -> None:
        event = self._event(request, "stepward.progress", f"progress/{uuid4()}") | {"data": value}
        if self._wrong == "progress-without-proof":
            del event["proof"]
        await self._publish(request["replyto"], event)

    async def _reply(self, request: Answer, answer: Answer) -> None:
        event = self._event(request, "stepward.reply", "reply") | answer
        if self._wrong == "makes-up-proofs":
            event["proof"] = "0" * 32
        if self._wrong == "leaves-out-store":
            del event["store"]
        if self._wrong == "names-no-agent":
            event["source"] = self._name.rpartition("/")[0]
        if self._wrong == "leaves-out-null" and event.get("data", 0) is None:
            del event["data"]
        if len(json.dumps([event])) > self._broker.limit and self._wrong != "sends-any-size":
            error = {"message": "the result is too large", "type": "PayloadTooLarge", "data": {}}
            event |= {"outcome": "failed", "maybedone": True, "data": error}
        await self._publish(request["replyto"], event)

    def _event(self, request: Answer, kind: str, name: str) -> Answer:
        copied = {each: request[each] for each in ("store", "proof", "correlationid", "run", "step", "attempt")}
        at = datetime.fromtimestamp(self._now(), UTC).isoformat()
        named = {"specversion": "1.0", "type": kind, "id": f"{request['id']}/{name}", "time": at}
        return named | copied | {"source": self._name}

    async def _publish(self, queue: str, event: Answer) -> None:
        await self._broker.append(queue, [MessageBatch(json.dumps([event]).encode(), NEVER)])


def _completed(data: Any) -> Answer:
    return {"outcome": "completed", "data": data}


def _step(event: Mapping[str, Any]) -> tuple[str, ...]:
    return event["correlationid"], str(event["run"]), event["step"]
