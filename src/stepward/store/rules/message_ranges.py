"""The ranges of keys in which messages are looked up: queues by their prefix, requests by their beginning."""

from __future__ import annotations

INDEXED_BYTES = 63
"""How much of a request's body is indexed: to the end of a uid."""


def end_of_prefix(prefix: str) -> str:
    """The first text that sorts behind all that begin with ``prefix``, by code points."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def request_range(beginning: bytes) -> tuple[bytes, bytes]:
    """Between what the indexed beginnings of requests lie that begin so; no text in UTF-8 holds that last byte."""
    start = beginning[:INDEXED_BYTES]
    return start, start + b"\xff"
