"""Bodies of an HTTP service's answers, read within a bound: unpacked piece by piece, whatever they unpack to."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import httpx

from stepward.errors import Unrecoverable

PIECE_BYTES = 65_536
"""Most bytes that one step of unpacking yields."""
ACCEPTED = "gzip, deflate"
"""The encodings that are asked for: those whose unpacking can be bounded."""
GZIP = zlib.MAX_WBITS | 16
UNBOUNDED = frozenset({"br", "zstd", "compress"})


class Decompressor(Protocol):
    """What zlib's decompressors offer."""

    @property
    def eof(self) -> bool:
        """Whether the end of the packed data was reached."""
        ...

    @property
    def unconsumed_tail(self) -> bytes:
        """Input that was left because ``max_length`` was reached."""
        ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """The next bytes, at most so many."""
        ...


def bounded(response: httpx.Response, request: httpx.Request, limit: int | None) -> httpx.Response:
    """The same response, its body unpacked and bounded; None: read as a stream, and bounded only in its pieces."""
    if not isinstance(response.stream, httpx.AsyncByteStream):
        return response
    packed = response.headers.get("Content-Encoding", "").lower()
    headers = [
        (name, value)
        for name, value in response.headers.raw
        if not (packed and name.lower() in {b"content-encoding", b"content-length"})
    ]
    stream = _Body(response.stream, packed, request, limit, is_success=response.is_success)
    return httpx.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)


class _Body(httpx.AsyncByteStream):
    """Raises ``httpx.DecodingError`` for what does not unpack, Unrecoverable for a good answer that is too large.

    Of any other answer the beginning says enough.
    """

    def __init__(
        self,
        packed: httpx.AsyncByteStream,
        encoding: str,
        request: httpx.Request,
        limit: int | None,
        *,
        is_success: bool,
    ) -> None:
        self._packed = packed
        self._encodings = [each for part in encoding.split(",") if (each := part.strip()) not in {"", "identity"}]
        self._request = request
        self._limit = limit
        self._is_success = is_success

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._pieces():
            read += len(piece)
            if self._limit is not None and read > self._limit:
                if self._is_success:
                    raise self._too_large(self._limit)
                return
            yield piece

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._packed.aclose()

    async def _pieces(self) -> AsyncIterator[bytes]:
        unpacker: Decompressor | None = None
        async for part in self._packed:
            if not part:
                continue
            unpacker = unpacker or self._unpacker(part)
            for piece in self._unpacked(unpacker, part) if unpacker is not None else (part,):
                yield piece

    def _unpacked(self, unpacker: Decompressor, part: bytes) -> Iterator[bytes]:
        is_full = False
        while (part or is_full) and not unpacker.eof:
            try:
                piece = unpacker.decompress(part, PIECE_BYTES)
            except zlib.error as error:
                raise httpx.DecodingError(str(error), request=self._request) from error
            part, is_full = unpacker.unconsumed_tail, len(piece) == PIECE_BYTES
            if piece:
                yield piece

    def _unpacker(self, first: bytes) -> Decompressor | None:
        known = [each for each in self._encodings if each in {"gzip", "x-gzip", "deflate"}]
        if len(known) > 1 or UNBOUNDED.intersection(self._encodings):
            raise httpx.DecodingError(
                f"expected a body packed with one of {ACCEPTED}, found {', '.join(self._encodings)[:100]}",
                request=self._request,
            )
        if not known:
            return None
        return zlib.decompressobj(GZIP if known[0].endswith("gzip") else _deflate(first))

    def _too_large(self, limit: int) -> Unrecoverable:
        return Unrecoverable(
            f"{self._request.method} {self._request.url.path[:200]}: expected at most {limit:,} bytes, found more; ask "
            "for less, raise body_bytes, or stream it with agent.client",
            maybe_done=True,
        )


def _deflate(first: bytes) -> int:
    """How to read deflate: some services leave out the header that belongs to it."""
    # Without it the first block would be stored, and padded with other than zeros.
    return zlib.MAX_WBITS if first[0] & 0x0F == zlib.DEFLATED else -zlib.MAX_WBITS
