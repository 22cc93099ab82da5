"""A NATS client that insists on encryption: the library's own accepts whatever the server announces."""

from __future__ import annotations

from nats.errors import Error as NatsError

from stepward.transport.nats.abortable_client import AbortableClient


class EncryptedClient(AbortableClient):
    """Sends nothing, its login included, to a server that does not speak TLS.

    It uses private parts of the library; the tests of failed handshakes pin the library's version.
    """

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise NatsError("TLS: the server speaks no TLS on that port, and the address asks for it")
        return super()._connect_command()

    def handshake_failure(self) -> BaseException | None:
        """The server's error about the handshake: with TLS 1.3 it arrives later and ends the connection."""
        reader = getattr(self._transport, "_io_reader", None)
        return None if reader is None else reader.exception()
