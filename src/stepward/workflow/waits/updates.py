"""Updates in workflow code: waited for, validated before anything is recorded, and answered."""

from __future__ import annotations

import inspect
from asyncio import _get_running_loop, _set_running_loop
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from stepward.durations import Duration, seconds, shown
from stepward.error_messages import message_of
from stepward.errors import Refused
from stepward.model.live_values import checked_value_name
from stepward.model.tasks.updates import PREFIX, UpdateAnswer, read_message, rejection
from stepward.payload import decode, encode
from stepward.payload.sealed import why_unopened
from stepward.workflow import recorded_values
from stepward.workflow.functions import run_of
from stepward.workflow.run_commands import Run
from stepward.workflow.waits.signal_waits import wait_for_signal
from stepward.workflow.waits.signals import Signal, UpdateCheck

T = TypeVar("T")


class Update(Generic[T]):
    """An update that the workflow has taken; its caller waits for the answer."""

    __slots__ = ("_is_answered", "_run", "id", "name", "value")

    def __init__(self, run: Run, name: str, id: str, value: T) -> None:
        self._run = run
        self._is_answered = False
        self.name = name
        self.id = id
        self.value = value

    def accept(self, result: object = None) -> None:
        """Answer with a result, any JSON; committed with the turn. Raises Refused for a second answer."""
        body = encode(result, f"answer to update {self.name}", limit=self._run.payload_limit)
        self._answer(UpdateAnswer(self.id, is_accepted=True, body=body))

    def reject(self, message: str) -> None:
        """Answer that the update is refused; the caller gets UpdateRejected. Raises Refused for a second answer."""
        if not isinstance(message, str):
            raise Refused(f"rejection of update {self.name}: expected a text, found {shown(message)}; say why")
        self._answer(rejection(self.id, message))

    def _answer(self, answer: UpdateAnswer) -> None:
        if self._is_answered:
            raise Refused(f"update {self.name}: expected one answer, found a second one; answer each update once")
        self._is_answered = True
        recorded_values.answer(self._run, self.name, answer)


@overload
async def wait_for_update(
    name: str, *, timeout: Duration | None = None, validator: Callable[[Any], object] | None = None
) -> Update[Any]: ...
@overload
async def wait_for_update(
    name: str, *, type: type[T], timeout: Duration | None = None, validator: Callable[[T], object] | None = None
) -> Update[T]: ...
@overload
async def wait_for_update(
    name: str, *, type: Any, timeout: Duration | None = None, validator: Callable[[Any], object] | None = None
) -> Update[Any]: ...
async def wait_for_update(
    name: str,
    *,
    type: Any = Any,  # noqa: A002
    timeout: Duration | None = None,
    validator: Callable[[Any], object] | None = None,
) -> Update[Any]:
    """The next update ``name``, its payload as ``type``; answer it with ``accept`` or ``reject``.

    An update whose payload does not fit ``type``, or for which ``validator`` raises, is rejected with that message: the
    workflow does not receive it, and nothing of it is recorded. ``validator`` is a plain function that reads the
    payload and uses nothing of the workflow. Raises TimeoutError when none came within ``timeout``.
    """
    run = run_of("wait_for_update()")
    checked_value_name(name, "wait_for_update")
    _check_validator(name, validator)
    limit = None if timeout is None else seconds(timeout, "wait_for_update timeout", zero=True)
    body = await wait_for_signal(run, f"{PREFIX}{name}", limit, _refusal(name, type, validator))
    message = read_message(body, name)
    return Update(run, name, message.id, decode(bytes(message.value), f"update {name}", type))


def _check_validator(name: str, validator: object) -> None:
    if validator is not None and not callable(validator):
        raise Refused(f"validator of update {name}: expected a plain function, found {shown(validator)}; give one")
    if inspect.iscoroutinefunction(validator):
        raise Refused(
            f"validator of update {name}: expected a plain function, found an async one; only read the payload"
        )


def _refusal(name: str, type: Any, validator: Callable[[Any], object] | None) -> UpdateCheck:  # noqa: A002
    def refusal(signal: Signal) -> UpdateAnswer | None:
        if why_unopened(signal.payload) is not None:
            # The workflow receives it, and its error names the reason, as for a signal.
            return None
        id = ""
        try:
            message = read_message(signal.payload, name)
            id = message.id
            _outside_loop(_validate, bytes(message.value), f"update {name}", type, validator)
        except Exception as error:
            return rejection(id, message_of(error), signal.number)
        return None

    return refusal


def _validate(value: bytes, what: str, type: Any, validator: Callable[[Any], object] | None) -> None:  # noqa: A002
    found = decode(value, what, type)
    if validator is not None:
        returned = validator(found)
        if inspect.iscoroutine(returned):
            returned.close()
            raise Refused(
                f"validator of {what}: expected a plain function, found that it is async; only read the payload"
            )


def _outside_loop(fn: Callable[..., object], *args: Any) -> None:
    """Call a plain function that the engine needs and that may use nothing of the workflow."""
    inner = _get_running_loop()
    _set_running_loop(None)
    try:
        fn(*args)
    finally:
        _set_running_loop(inner)
