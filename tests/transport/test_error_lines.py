"""Error lines about a broker that cannot be reached."""

from __future__ import annotations

import errno
import socket

import pytest

from stepward.transport.broker.reconnecting import failure_text

UNKNOWN = socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def wrapped(cause: Exception) -> Exception:
    """As a client's own kind of error, which takes the arguments and not the words."""
    error = ConnectionError(*cause.args)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("error", [UNKNOWN, wrapped(UNKNOWN)], ids=["itself", "wrapped"])
def test_an_unknown_host_name_is_reported_as_such(error: Exception) -> None:
    assert failure_text(error) == "Name or service not known"


def test_other_errors_are_reported_in_the_systems_words() -> None:
    assert (
        failure_text(ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('::1', 1)"))
        == "Connection refused"
    )
    assert failure_text(TimeoutError()) == failure_text(None) == "no answer"
    assert failure_text(ValueError("two\nlines")) == "two lines"
    assert failure_text(ValueError()) == "ValueError"
