"""The declaration of a submission: its queue and its ``accept``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, Unpack, overload

from stepward.durations import Duration
from stepward.errors import DeclarationError, InvalidPayload, Unacceptable
from stepward.model.messages.cloudevents import CloudEvent, data_of
from stepward.model.tasks.attributes import AttributeValue
from stepward.model.tasks.key_rules import KeyRule, checked_rule
from stepward.model.tasks.submit_options import AcceptedTaskOptions, SubmitOptions
from stepward.store.contract import Transaction
from stepward.workflow.definition import ChildCall, Workflow

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Message:
    """A message from a submission queue, before it is accepted."""

    def __init__(self, event: CloudEvent, tries: int) -> None:
        self._event = event
        self.id: str = event.id
        """Becomes the task's id; two messages with one id make one task."""
        self.reply_to: str | None = event.replyto
        """The private response queue for the task's events."""
        self.time: datetime | None = event.time
        self.traceparent: object = event.traceparent
        """The W3C trace context in which it was posted, if any: the task's trace links to it."""
        self.tries = tries
        """1 at first, more when it comes again after a failure."""

    def __repr__(self) -> str:
        return f"<Message {self.id}>"

    @overload
    def read(self) -> Any: ...
    @overload
    def read(self, kind: type[T]) -> T: ...
    def read(self, kind: Any = Any) -> Any:
        """The payload, as ``kind``. Raises Unacceptable if it does not fit."""
        try:
            return data_of(self._event, kind)
        except InvalidPayload as error:
            raise Unacceptable(str(error)) from None


class Accepted:
    """The task that an accepted message makes: a workflow with its arguments; other fields as in ``Client.submit``.

    The task's id is the message's. Under ``per_key`` the message may join a task that is there already; one that the
    rule refuses is a dead letter.
    """

    @overload
    def __init__(
        self, workflow: Callable[[*Ts], ChildCall[object]], *args: *Ts, **options: Unpack[AcceptedTaskOptions]
    ) -> None: ...
    @overload
    def __init__(self, workflow: Workflow[P, Any], *args: P.args, **kwargs: P.kwargs) -> None: ...
    @overload
    def __init__(self, workflow: str, *args: Any, **kwargs: Any) -> None: ...
    def __init__(  # type: ignore[misc]  # the options of the first are listed one by one
        self,
        workflow: Any,
        *args: Any,
        priority: int = 5,
        complete_by: datetime | Duration | None = None,
        delay: Duration | None = None,
        labels: Mapping[str, str] | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
        fairness_key: str | None = None,
        per_key: KeyRule | None = None,
        **kwargs: Any,
    ) -> None:
        self.workflow: Workflow[Any, Any] | str = workflow
        self.per_key = checked_rule(per_key)
        self.args = args
        self.kwargs = kwargs
        self.options: SubmitOptions = {
            "priority": priority,
            "complete_by": complete_by,
            "delay": delay,
            "labels": labels,
            "attributes": attributes,
            "fairness_key": fairness_key,
        }


Accept = Callable[[Message, Transaction], Awaitable[Accepted]]


class SubmissionQueue:
    """A queue, and the function that accepts its messages."""

    def __init__(self, queue: str, accept: Accept) -> None:
        if not isinstance(queue, str) or not QUEUE.fullmatch(queue):
            raise DeclarationError(
                f"submission: expected a queue of 1 to 100 of A-Z a-z 0-9 _ . -, found {str(queue)[:60]!r}; rename it"
            )
        if not inspect.iscoroutinefunction(accept) or not _takes_both(accept):
            raise DeclarationError(
                f"submission {queue}: expected accept to be an async def of (message, transaction), "
                f"found {getattr(accept, '__name__', accept)!r}; write async def"
            )
        self.queue = queue
        self.accept = accept


def _takes_both(accept: Accept) -> bool:
    try:
        inspect.signature(accept).bind(None, None)
    except TypeError:
        return False
    return True
