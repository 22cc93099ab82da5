"""The export of spans over OTLP/HTTP: batches leave from a thread, beside the event loop.

A collector that is not reached holds up nothing: batches wait up to a bound, and those beyond it are dropped and
counted.
"""

from __future__ import annotations

import asyncio
import http.client
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from stepward.events import Observers
from stepward.telemetry.traces.spans import SpanWriter

BATCH = 2_000
"""Spans after which a batch leaves."""
EVERY = 1.0
"""Seconds after which a batch leaves that is not full."""
MOST_BATCHES = 32
"""Batches that wait while the collector is not reached; further ones are dropped."""
TIMEOUT = 10.0
"""Seconds for one export."""
END_SECONDS = 3.0
"""Seconds for the last exports when the process ends."""
BACKOFF, LONGEST_BACKOFF = 1.0, 30.0
ANSWER_BYTES = 64 * 1024
RETRIED = frozenset({429, 502, 503, 504})
"""The answers after which OTLP has a batch sent again; after others it is dropped."""


class SpanExport:
    """Sends the batches of a writer to one collector."""

    def __init__(
        self, url: str, *, resource: Mapping[str, str], version: str, headers: Mapping[str, str], observers: Observers
    ) -> None:
        self._collector = Collector(url, headers)
        self._observers = observers
        self._waiting: deque[bytes] = deque()
        self._due = asyncio.Event()
        self._unreached = False
        self.dropped = 0
        """Batches that were dropped."""
        self.writer = SpanWriter(resource, version, size=BATCH, full=self._cut)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[SpanWriter]:
        """Export what is written within the block; what is left at its end too, as far as time allows."""
        task = asyncio.get_running_loop().create_task(self._run(), name="traces")
        try:
            yield self.writer
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            with suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    self._cut()
                    await self._drain()
            self._collector.close()

    async def _run(self) -> None:
        backoff = BACKOFF
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._due.wait()
            self._due.clear()
            if self.writer.count and not self._waiting:
                self._cut()
            if await self._drain():
                backoff = BACKOFF
            else:
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LONGEST_BACKOFF)

    def _cut(self) -> None:
        """End the batch that is being filled."""
        if not self.writer.count:
            return
        batch = self.writer.take()
        if len(self._waiting) < MOST_BATCHES:
            self._waiting.append(batch)
        else:
            self.dropped += 1
        self._due.set()

    async def _drain(self) -> bool:
        """Send what waits, oldest first; whether all of it has left."""
        while self._waiting:
            try:
                status = await asyncio.to_thread(self._collector.post, self._waiting[0])
            except (OSError, http.client.HTTPException) as error:
                self._report_unreached(f"expected an answer, found: {error or type(error).__name__}")
                return False
            if status in RETRIED:
                self._report_unreached(f"expected 200, found {status}")
                return False
            self._waiting.popleft()
            if 200 <= status < 300:
                self._unreached = False
            else:
                self.dropped += 1
                self._report_unreached(f"expected 200, found {status}; the batch is dropped")
        return True

    def _report_unreached(self, reason: str) -> None:
        """Report once until the collector is reached again."""
        if not self._unreached:
            self._unreached = True
            error = f"traces {self._collector.shown}: {reason}; look at the collector, or at the setting traces"
            self._observers.emit("traces.unavailable", error=error, dropped=self.dropped)


class Collector:
    """One connection to a collector, made again after a failure; redirects are not followed."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection: http.client.HTTPConnection = make(parts.hostname or "", parts.port, timeout=TIMEOUT)
        self._path = parts.path
        self._headers = {"content-type": "application/x-protobuf", "user-agent": "stepward", **headers}
        self.shown = f"{parts.scheme}://{parts.netloc}{parts.path}"

    def post(self, body: bytes) -> int:
        """The status of the answer. Raises OSError or HTTPException."""
        try:
            self._connection.request("POST", self._path, body, self._headers)
            answer = self._connection.getresponse()
            answer.read(ANSWER_BYTES)
            if not answer.isclosed():
                self._connection.close()
            return answer.status
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
