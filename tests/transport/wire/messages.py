"""One message of each kind, as the golden files hold it."""

from __future__ import annotations

import msgspec

from stepward.model.messages.cloudevents import CloudEvent, encode_event, instant, stamped
from stepward.model.messages.requests import Outcome
from stepward.model.messages.status_events import StatusEventType, ended_with, status_event
from stepward.model.records import Task
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.encoding import Wire, join
from stepward.transport.wire.loss_broadcasts import encode_loss
from stepward.transport.wire.wire_events import encode_revocation
from tests.transport.messages import SIGNER, progress, reply, request
from tests.virtual import START

ONE, OTHER = "0192f3a1-5c1d-7a6e-9d0b-3f6a2b1c4d5e", "0192f3a1-5c1d-7a6e-9d0b-3f6a2b1c4d5f"
ERROR = b'{"message":"no such card","type":"Unrecoverable","data":{"code":14}}'
SOURCE = "/stepward/shop/process-1"
BATCHES: dict[str, list[AgentMessage]] = {
    "request": [request(ONE, complete_by=START + 10.5)],
    "request-of-no-json": [request(ONE, complete_by=START + 10, input=b"\x00\xff")],
    "request-of-an-undo": [
        request(
            ONE,
            complete_by=START + 10,
            key="payments.charge/1~undo",
            attempt=2,
            undo=True,
            input=b'[null,"o1",5]',
            idempotency_key=f"{ONE}/1/payments.charge/1~undo",
            undoes=f"{ONE}/1/payments.charge/1",
            priority=9,
        )
    ],
    "request-of-a-next-attempt": [request(ONE, complete_by=START + 10, attempt=2, progress=b'{"done":7}')],
    "requests": [
        request(ONE, complete_by=START + 10),
        request(OTHER, complete_by=START + 20, task_id="order-2", run=3),
    ],
    "reply-completed": [reply(ONE, output=b'"charge-1"')],
    "reply-failed": [reply(ONE, outcome=Outcome.FAILED, output=None, error=ERROR, maybe_done=True)],
    "reply-gave-up": [reply(ONE, outcome=Outcome.GAVE_UP, output=None, error=ERROR, calls=4)],
    "reply-deferred": [reply(ONE, outcome=Outcome.DEFERRED, output=None)],
    "progress": [progress(b'{"done":7}', ONE, at=START + 2.5)],
    "replies": [reply(ONE, output=b"null"), reply(OTHER, attempt=2, output=b"[1.5,true]", calls=2)],
}


def written() -> dict[str, bytes]:
    """The bytes of each message that we write."""
    wire = Wire("shop", SIGNER)
    batches = {name: join([wire.encode(each, START) for each in batch]) for name, batch in BATCHES.items()}
    return batches | {
        "revocation": encode_revocation(SOURCE, "agents.payments", ONE, 2, "payments.charge/1", 1),
        "loss": encode_loss("shop", "0192f3a1", "agents.payments"),
        "submission": _submission(),
        "status-events": join([stamped(event, SIGNER.store) for event in _status_events()]),
    }


def _submission() -> bytes:
    return encode_event(
        CloudEvent(
            id="A-4",
            source="/stepward/shop",
            type="stepward.submission",
            time=instant(START),
            replyto="replies.shop.web",
            store=SIGNER.store,
            datacontenttype="application/json",
            data=msgspec.Raw(b'{"product":"teapot"}'),
            specversion="1.0",
        )
    )


def _status_events() -> list[bytes]:
    task = Task(uid=ONE, id="A-4", workflow="fulfil", version="1", reply_to="replies.shop.web")
    step = {"step": "payments.charge/1", "name": "payments.charge"}
    return [
        status_event(task, StatusEventType.STARTED, 2, START + 0.25),
        status_event(
            task, StatusEventType.STEP_DELAYED, 3, START + 1, **step, failures=1, repeat_at=START + 3, error=_error()
        ),
        status_event(task, StatusEventType.WAITING, 4, START + 4, waits_for="signal approval", until=None),
        status_event(task, StatusEventType.COMPLETED, 5, START + 9, **ended_with(b'"parcel-1"', None)),
    ]


def _error() -> msgspec.Raw:
    return msgspec.Raw(ERROR)
