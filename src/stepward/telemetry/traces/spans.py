"""Spans as OTLP messages, in batches.

The hot path is the span of an attempt: what repeats in it is encoded once by OpenTelemetry's own messages, and what
does not (ids and instants, all of fixed length) is put before and behind that as bytes. Encoding each span whole takes
ten times the CPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import lru_cache
from struct import Struct as Layout
from typing import NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

SCOPE = "stepward"
MOST_TEMPLATES = 10_000
"""Names of spans, and steps, whose repeated parts are kept."""
NANOSECONDS = 1_000_000_000
# Fields of messages as OTLP numbers them, with the type of what follows.
TRACE, SPAN, PARENT, START, END = b"\x0a\x10", b"\x12\x08", b"\x22\x08", 0x39, 0x41
packed_child = Layout("<2s16s2s8sBQBQ2s8s").pack
"""Packs ids and instants of a span that has a parent."""
packed_root = Layout("<2s16s2s8sBQBQ").pack
SPANS_OF_SCOPE, SCOPES_OF_RESOURCE, RESOURCES = b"\x12", b"\x12", b"\x0a"


class OtlpKind(Enum):
    """The kinds of spans."""

    INTERNAL = auto()
    """A task."""
    CLIENT = auto()
    """An attempt, as its Scheduler sees it."""
    CONSUMER = auto()
    """A request that an Agent performs."""


KINDS = {
    OtlpKind.INTERNAL: Span.SPAN_KIND_INTERNAL,
    OtlpKind.CLIENT: Span.SPAN_KIND_CLIENT,
    OtlpKind.CONSUMER: Span.SPAN_KIND_CONSUMER,
}


class SpanIds(NamedTuple):
    """Ids as bytes: 16 of the trace, 8 of the span, 8 of its parent or none."""

    trace: bytes
    span: bytes
    parent: bytes = b""


class SpanPeriod(NamedTuple):
    """When what a span is about began and ended, and the type of its error, if it failed."""

    began_at: float
    ended_at: float
    error: str | None = None


class SpanWriter:
    """Fills batches of spans; ``full`` is called when one has ``size`` spans."""

    def __init__(self, resource: Mapping[str, str], version: str, *, size: int, full: Callable[[], None]) -> None:
        scope = InstrumentationScope(name=SCOPE, version=version)
        self._resource = ResourceSpans(resource=Resource(attributes=_texts(resource))).SerializeToString()
        self._scope = ScopeSpans(scope=scope).SerializeToString()
        self._spans: list[bytes] = []
        self._size = size
        self._full = full
        self._chance = random.Random()

    @property
    def count(self) -> int:
        """Spans in the batch."""
        return len(self._spans)

    def take(self) -> bytes:
        """The batch as the body of an export; an empty batch follows."""
        spans, self._spans = self._spans, []
        scope: bytes = self._scope + b"".join([SPANS_OF_SCOPE + length(span) + span for span in spans])
        found: bytes = self._resource + SCOPES_OF_RESOURCE + length(scope) + scope
        return RESOURCES + length(found) + found

    def fresh_id(self) -> bytes:
        """An id of a span that no other process has to know."""
        return (self._chance.getrandbits(64) or 1).to_bytes(8, "big")

    def attempt(self, ids: SpanIds, key: str, attempt: int, period: SpanPeriod) -> None:
        """Add the span of an attempt of a step."""
        self._add(ids, attempt_template(key, attempt), period)

    def task(
        self, ids: SpanIds, name: str, attributes: Mapping[str, str], period: SpanPeriod, link: SpanIds | None
    ) -> None:
        """Add the span of a task, with attributes and a link to the span of its submission."""
        links = [] if link is None else [Span.Link(trace_id=link.trace, span_id=link.span)]
        rest = Span(attributes=_texts(attributes), links=links).SerializeToString()
        self._add(ids, template(name, OtlpKind.INTERNAL) + rest, period)

    def named(self, ids: SpanIds, name: str, kind: OtlpKind, period: SpanPeriod) -> None:
        """Add a span that has a name and nothing more."""
        self._add(ids, template(name, kind), period)

    def _add(self, ids: SpanIds, whole: bytes, period: SpanPeriod) -> None:
        began_at, ended_at, error = period
        began, ended = int(began_at * NANOSECONDS), int(ended_at * NANOSECONDS)
        known = TRACE, ids[0], SPAN, ids[1], START, began, END, max(began, ended)
        fixed = packed_child(*known, PARENT, ids[2]) if ids[2] else packed_root(*known)
        if error is not None:
            whole += Span(status=Status(code=Status.STATUS_CODE_ERROR, message=error)).SerializeToString()
        self._spans.append(fixed + whole)
        if len(self._spans) == self._size:
            self._full()


@lru_cache(MOST_TEMPLATES)
def template(name: str, kind: OtlpKind) -> bytes:
    """The part of a span that all spans of one name have."""
    whole: bytes = Span(name=name, kind=KINDS[kind]).SerializeToString()
    return whole


@lru_cache(MOST_TEMPLATES)
def attempt_template(key: str, attempt: int) -> bytes:
    """The part of a span that the same attempt of the same step has in all tasks."""
    number = KeyValue(key="stepward.attempt", value=AnyValue(int_value=attempt))
    attributes: bytes = Span(attributes=[*_texts({"stepward.step": key}), number]).SerializeToString()
    return template(key.rpartition("/")[0] or key, OtlpKind.CLIENT) + attributes


def length(data: bytes) -> bytes:
    """The length of a part of a message, as Protocol Buffers write integers."""
    left, digits = len(data), bytearray()
    while left > 0x7F:
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    digits.append(left)
    return bytes(digits)


def _texts(values: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=name, value=AnyValue(string_value=value)) for name, value in values.items()]
