"""Calls of the application's ``accept``: bounded in time, and isolated from the transaction's end and the caller's
cancellation."""

from __future__ import annotations

import asyncio

from stepward.error_messages import message_of
from stepward.model.application_calls import contained
from stepward.runtime.cancelling import end_tasks
from stepward.store.contract import Transaction
from stepward.submission.declaration import Accept, Accepted, Message
from stepward.submission.lent_transaction import LentTransaction

LAST_WAIT = 1.0
"""Seconds for abandoned calls to end when the process ends."""
ACCEPT_SECONDS = 10.0
"""Seconds that ``accept`` may take for one message: it holds up the store's other writers."""


class AcceptCalls:
    """Calls one ``accept``, each time in a task of its own, which can neither cancel its caller nor hold it up."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._late: set[asyncio.Task[Accepted]] = set()
        """Abandoned calls that have not ended."""

    async def call(self, message: Message, transaction: Transaction) -> Accepted:
        """The result of ``accept``; raises its exception, and an error for a call that takes too long or another
        kind of result."""
        lent = LentTransaction(transaction)
        call = asyncio.create_task(self._called(message, lent))
        try:
            await asyncio.wait({call}, timeout=ACCEPT_SECONDS)
        finally:
            if not call.done():
                self._give_up(call, lent)
        return _accepted(call)

    async def _called(self, message: Message, lent: LentTransaction) -> Accepted:
        try:
            with contained:
                return await self._accept(message, lent)
        finally:
            lent.take_back()

    async def stop(self) -> None:
        """Wait a moment for abandoned calls; those that do not end are left running."""
        await end_tasks(self._late, LAST_WAIT)

    def _give_up(self, call: asyncio.Task[Accepted], lent: LentTransaction) -> None:
        lent.take_back()
        call.cancel()
        self._late.add(call)
        call.add_done_callback(self._forget)

    def _forget(self, call: asyncio.Task[Accepted]) -> None:
        self._late.discard(call)
        if not call.cancelled():
            call.exception()


def _accepted(call: asyncio.Task[Accepted]) -> Accepted:
    if not call.done():
        raise TimeoutError(f"expected accept to end within {ACCEPT_SECONDS:g} s, found it still running")
    if call.cancelled():
        raise RuntimeError("expected accept to return or raise, found it cancelled by itself")
    error = call.exception()
    if error is not None and not isinstance(error, Exception):
        raise RuntimeError(f"accept raised {type(error).__name__}: {message_of(error)}") from error
    accepted = call.result()
    if not isinstance(accepted, Accepted):
        raise TypeError(f"expected accept to return an Accepted, found {accepted!r:.100}")
    return accepted
