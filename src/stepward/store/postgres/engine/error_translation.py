"""Errors of PostgreSQL and of the way to it in Stepward's words: one clear line that says what to do."""

from __future__ import annotations

import socket
import ssl

import asyncpg

from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.store.store_errors import detail

MISSED = "SW001"
"""Raised by our own ``miss()`` in a statement whose parts did not all apply."""

DATA = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
"""What a value that the tables, or the driver on its way there, do not take raises."""

AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
"""The server rolled back because of another transaction: the same again will do."""

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    OSError,
    TimeoutError,
)
"""The answer to what was sent will never come."""

UNKNOWN = (*LOST, asyncpg.InternalClientError)
"""The same of a commit: a driver that has lost the thread cannot say whether it was sent."""

BROKEN = (*LOST, asyncpg.InterfaceError, asyncpg.PostgresError, asyncpg.InternalClientError)
"""All that the driver raises, DATA and AGAIN among it."""


class NotReplicated(ConnectionError):
    """The wait of a commit for a standby was cancelled: it is done on the primary, and may not be on a standby."""

    def __str__(self) -> str:
        return "the wait for a standby was cut short, so that the commit may be lost with the primary"


class CommitUncertain(ConnectionError):
    """A message that commits and cleans the session failed: perhaps after the commit."""


ENDED = "another operation (2) is in progress"
"""What asyncpg says between the server's word that it ends the connection and the end itself. Nothing was sent."""

UNKNOWN_PARAMETER = "42704"
"""Of an address, or of ours on a server that is too old for it."""

NO_RIGHT = "42501"

FaultAdvice = tuple[type[StepwardError], str]

BY_STATE: dict[str, FaultAdvice] = {
    "25006": (StoreUnavailable, "expected the primary, found a server that only reads; name the primary, or all hosts"),
    "28000": (StoreUnusable, "expected to be let in, found the user refused; look at the user and the server's rules"),
    "28P01": (
        StoreUnusable,
        "expected the right password, found none or a wrong one; correct user and password: it stands in the address, "
        "in PGPASSWORD, or in the file of PGPASSFILE, which its owner alone may read",
    ),
    "3D000": (StoreUnusable, "expected the database, found none of that name; create it, or name another"),
    "42P01": (StoreUnusable, "expected Stepward's tables, found some gone; restore them, or drop the schema"),
    "53100": (StoreUnavailable, "expected room for what is written, found that the disk is full; make room"),
    "53300": (
        StoreUnavailable,
        "expected room for a connection, found too many; raise max_connections, or run fewer processes",
    ),
    "55P03": (StoreUnavailable, "expected a row within the time allowed, found it held all the while; try again"),
    "57014": (StoreUnavailable, "expected an answer within the time allowed, found none; try again, or ask for less"),
    "57P03": (StoreUnavailable, "expected a server that takes connections, found it starting or stopping; wait"),
    "25P03": (StoreUnavailable, "expected work within the open transaction, found it idle too long; keep it short"),
}

BY_CLASS: dict[str, FaultAdvice] = {
    "53": (StoreUnavailable, "expected the server to have the means, found it short of them; look at its log"),
    "57": (StoreUnavailable, "expected a running server, found it stopping; wait for it"),
}


def translated(error: BaseException, place: str) -> StepwardError:
    """The error of Stepward's tree that says what ``error`` means for users of the store."""
    state = getattr(error, "sqlstate", None) or ""
    if state == UNKNOWN_PARAMETER:
        return StoreUnusable(
            f"store {place}: expected parameters that the server knows, found {detail(error)}; correct the address, or "
            "upgrade a server older than 15"
        )
    if state == NO_RIGHT:
        return StoreUnusable(
            f"store {place}: expected the rights on schema and tables, found {detail(error)}; grant the user what is "
            "missing as docs/deployment.md shows, or CREATE on the database"
        )
    known = BY_STATE.get(state) or BY_CLASS.get(state[:2])
    if known is not None:
        answer, advice = known
        return answer(f"store {place}: {advice}")
    return _on_the_way(error, place)


def _on_the_way(error: BaseException, place: str) -> StoreUnavailable:
    """The error that kept the server from being reached, or its answer from being received."""
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return StoreUnavailable(
            f"store {place}: expected a primary, found none but standbys in recovery; wait, or name the primary"
        )
    if isinstance(error, TimeoutError):
        return StoreUnavailable(f"store {place}: expected an answer in time, found none; look at the server")
    if isinstance(error, socket.gaierror):
        return StoreUnavailable(
            f"store {place}: expected a host of that name, found: {detail(error)}; correct the host, and in a password "
            "write @ as %40"
        )
    if "SSL" in str(error):
        return StoreUnavailable(f"store {place}: {_of_tls(error)}")
    if isinstance(error, OSError):
        return StoreUnavailable(f"store {place}: expected a server that answers, found: {detail(error)}; start it")
    expected, found = "PostgreSQL to do it", detail(error)
    if isinstance(error, asyncpg.InternalClientError) and ENDED in found:
        expected, found = "an open connection", "that the server ends it"
    return StoreUnavailable(f"store {place}: expected {expected}, found {found}; try again")


def _of_tls(error: BaseException) -> str:
    """What failed in a handshake, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"expected a certificate of a known authority for that host, found: {error.verify_message}; name the "
            "authority's file in sslrootcert, and the host as its certificate does"
        )
    return f"expected the server to take TLS, found: {detail(error)}; turn TLS on there, or set sslmode"
