"""Finishing steps from outside, by their completion tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from stepward.client.handle import actor
from stepward.client.submitting import act_arguments
from stepward.clock import Environment
from stepward.errors import CompletionRefused, InvalidPayload, Unrecoverable
from stepward.events import Hints
from stepward.model.action import Action
from stepward.model.failures import FailureConverter
from stepward.model.messages.completion_tokens import KEY_BYTES, Claim, read_token
from stepward.model.states import StepKind
from stepward.payload import encode
from stepward.store.contract import Completion, CompletionStore, Refusal, RefusalReason


class Completions:
    """Reads tokens and records the outcomes that their holders give; a refusal changes nothing."""

    def __init__(
        self,
        store: CompletionStore,
        app: str,
        environment: Environment,
        hints: Hints,
        limit: int,
        operations: Mapping[str, Action[Any, Any]],
    ) -> None:
        self._store = store
        self._operations = operations
        self._app = app
        self._environment = environment
        self._hints = hints
        self._limit = limit
        self._key: bytes | None = None
        self._reading = asyncio.Lock()
        """Of the key: the first callers at one time read it once."""

    async def complete(self, token: str, result: Any, by: str | None) -> None:
        """The step is done, with that result. Raises CompletionRefused."""
        output = encode(result, "result of a step", limit=self._limit)
        await self._finish(token, act_arguments.person(by) or actor(), output=output)

    async def fail(self, token: str, message: str, data: Mapping[str, Any], by: str | None) -> None:
        """The step has failed for good. Raises CompletionRefused."""
        error = FailureConverter().convert(Unrecoverable(act_arguments.failure(message), **data))
        await self._finish(token, act_arguments.person(by) or actor(), error=error)

    async def _finish(self, token: str, who: str, *, output: bytes | None = None, error: bytes | None = None) -> None:
        found = read_token(token, await self._signed_with())
        if found is None:
            raise _refused(UNREADABLE)
        claim = found.claim
        completion = Completion(**_attempt(claim), output=output, error=error, actor=who)
        refusal = _foreign(claim, self._app) if claim.app != self._app else None if found.is_genuine else FORGED
        refusal = refusal or await self._unfit(claim, output)
        if refusal is not None:
            await self._store.refuse_completion(completion, refusal)
        else:
            refusal = await self._store.complete(completion)
            self._hints.hint()
        if refusal is not None:
            raise _refused(refusal)

    async def _unfit(self, claim: Claim, output: bytes | None) -> Refusal | None:
        """Why the workflow could not read the result; None where it fits, or this program has not the operation."""
        # A program without operations knows no type of a result.
        looks = output is not None and self._operations
        step = None if not looks else await self._store.completed_step(claim.task, claim.run, claim.key)
        action = None if step is None or step.kind is StepKind.UNDO else self._operations.get(step.name)
        if output is None or action is None:
            return None
        try:
            action.signature.check_result(output)
        except InvalidPayload as error:
            return Refusal(RefusalReason.UNFIT, f"completion of {claim.key}: {error}; complete it with one that fits")
        return None

    async def _signed_with(self) -> bytes:
        if self._key is None:
            async with self._reading:
                if self._key is None:
                    fresh = self._environment.random.randbytes(KEY_BYTES)
                    self._key = await self._store.completion_key(fresh)
        return self._key


UNREADABLE = Refusal(
    RefusalReason.UNREADABLE,
    "completion token: expected the text that an operation gave out, found no token; look whether all of it is there",
)
FORGED = Refusal(
    RefusalReason.FORGED,
    "completion token: expected the signature of this store, found another; use the token as it was given out",
)


def _foreign(claim: Claim, app: str) -> Refusal:
    message = f"completion token: expected one of the app {app!r}, found one of {claim.app[:100]!r}; ask its own store"
    return Refusal(RefusalReason.FOREIGN, message)


def _refused(refusal: Refusal) -> CompletionRefused:
    return CompletionRefused(refusal.message, reason=refusal.reason)


def _attempt(claim: Claim) -> dict[str, Any]:
    return {name: value for name, value in asdict(claim).items() if name != "app"}
