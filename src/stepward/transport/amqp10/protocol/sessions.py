"""Sessions of a connection, one for each link: begun, ended with their links, and answered where the peer ends them."""

from __future__ import annotations

from typing import Any

from proton import Connection, symbol

from stepward.transport.amqp10.protocol.socket_driver import MOST_FRAME_BYTES, Driver

MOST_UNANSWERED = 500
"""Most sessions that are left as the peer ended them; RabbitMQ takes 2,048 in a connection."""
WINDOW_FRAMES = 64
"""Frames of a session that the peer may send before they are read."""


class Sessions:
    """The sessions of one connection."""

    def __init__(self, connection: Connection, driver: Driver) -> None:
        self._connection = connection
        self._driver = driver
        self._unanswered = 0

    def begin(self) -> Any:
        """A session that is open."""
        session = self._connection.session()
        session.incoming_capacity = WINDOW_FRAMES * MOST_FRAME_BYTES
        session.open()
        return session

    def end(self, session: Any) -> None:
        """End a session whose link is closed.

        The end is sent at once, as the engine would send the begin of another link first. RabbitMQ 3.10 mixes up a
        session with one that has just ended under the same number, so there the end is sent after such a begin.
        """
        session.close()
        if is_rabbitmq(self._connection):
            self._driver.touch()
        else:
            self._driver.flush()

    def answer_end(self, session: Any) -> None:
        """Close a session that the peer has ended.

        RabbitMQ 3.10 takes the answer to a refusal for the begin of another session, and ends that one too, which
        breaks the connection: there the session stays as it is, and many of them are closed with the connection.
        """
        if session.remote_condition is None or not is_rabbitmq(self._connection):
            session.close()
            return
        self._unanswered += 1
        if self._unanswered > MOST_UNANSWERED:
            self._driver.abort()


def product_of(connection: Connection) -> str:
    """The name by which the peer introduced itself."""
    found = connection.remote_properties or {}
    return str(found.get(symbol("product"), connection.remote_container or ""))


def is_rabbitmq(connection: Connection) -> bool:
    """Whether the peer is RabbitMQ's plugin."""
    return product_of(connection).startswith("RabbitMQ")
