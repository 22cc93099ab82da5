"""Refusals of a workflow's event loop: of all that would reach outside the process or run beside the workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, TypeVar

THREADS = (
    "call_soon_threadsafe",
    "run_in_executor",
    "set_default_executor",
    "shutdown_default_executor",
)
NETWORK = (
    "getaddrinfo",
    "getnameinfo",
    "create_connection",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "start_tls",
    "connect_accepted_socket",
    "create_datagram_endpoint",
    "sendfile",
    "sock_recv",
    "sock_recv_into",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendall",
    "sock_sendto",
    "sock_connect",
    "sock_accept",
    "sock_sendfile",
)
PROCESS = (
    "connect_read_pipe",
    "connect_write_pipe",
    "subprocess_shell",
    "subprocess_exec",
    "add_reader",
    "remove_reader",
    "add_writer",
    "remove_writer",
    "add_signal_handler",
    "remove_signal_handler",
)
DRIVING = (
    "run_forever",
    "run_until_complete",
    "stop",
    "close",
    "shutdown_asyncgens",
)
"""The engine alone drives the loop."""


class Refusing(Protocol):
    """A loop that can say what it refused."""

    def refuse(self, what: str) -> NoReturn:
        """End the workflow as broken."""
        ...


LoopClass = TypeVar("LoopClass", bound=type[asyncio.AbstractEventLoop])


def without_input_output(loop_class: LoopClass) -> LoopClass:
    """Give ``loop_class`` a refusal for each method that a workflow may not use."""
    for name in THREADS + NETWORK + PROCESS + DRIVING:
        setattr(loop_class, name, _refusal(name))
    return loop_class


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Refusing, *_args: Any, **_kwargs: Any) -> NoReturn:
        self.refuse(f"loop.{name}")

    refuse.__name__ = name
    return refuse
