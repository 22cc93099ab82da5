"""A collector in this process: an HTTP server that reads OTLP as OpenTelemetry's own messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Received:
    """The spans that were exported so far, with the services that exported them."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        """The answer to further exports."""
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self._spans: list[tuple[str, Span]] = []
        self._changed = threading.Condition()

    def add(self, body: bytes, headers: dict[str, str]) -> int:
        """Take one export, and answer with a status."""
        with self._changed:
            if self.status == 200:
                self.bodies.append(body)
                self.headers.append(headers)
                request = ExportTraceServiceRequest.FromString(body)
                for found in request.resource_spans:
                    service = next(a.value.string_value for a in found.resource.attributes if a.key == "service.name")
                    self._spans += [(service, span) for scope in found.scope_spans for span in scope.spans]
            self._changed.notify_all()
            return self.status

    @property
    def spans(self) -> list[Span]:
        """All spans."""
        with self._changed:
            return [span for _, span in self._spans]

    def of(self, service: str) -> list[Span]:
        """The spans of one service."""
        with self._changed:
            return [span for name, span in self._spans if name == service]

    def until(self, enough: Callable[[list[Span]], bool], within: float = 20.0) -> list[Span]:
        """The spans once they are enough; to be called in a thread."""
        with self._changed:
            assert self._changed.wait_for(lambda: enough([span for _, span in self._spans]), within), self._spans
            return [span for _, span in self._spans]


@contextmanager
def collector() -> Iterator[Received]:
    """A collector that serves until the block ends."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            is_known = self.path == "/v1/traces" and self.headers["content-type"] == "application/x-protobuf"
            status = received.add(body, {k.lower(): v for k, v in self.headers.items()}) if is_known else 404
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    received.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(span: Span) -> dict[str, Any]:
    """The attributes of a span as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}
