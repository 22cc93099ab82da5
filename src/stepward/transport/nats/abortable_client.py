"""A NATS client whose connection can be ended at once: the library's own waits for the server while it closes."""

from __future__ import annotations

from nats.aio.client import Client


class AbortableClient(Client):
    """It uses private parts of the library; a test of a close that is cancelled pins the library's version."""

    def abort(self) -> None:
        """End the connection, with what is not sent yet; no effect on one that has ended."""
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()
