from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from stepward import App
from stepward.model.messages.requests import Outcome, Progress, Reply, Request
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.store.contract import Store
from stepward.store.store_at_address import open_store

IDENTITY = StoreIdentity("5d0c9be1a7f24e6083b1", bytes(range(32)))
SIGNER = Signer(IDENTITY)
"""That of the store of which messages are made up here."""

Proven = TypeVar("Proven", Request, Reply, Progress)


def request(task: str = "uid-1", *, complete_by: float = float("2e9"), **fields: Any) -> Request:
    given: dict[str, Any] = {
        "task": task,
        "task_id": "order-1",
        "run": 1,
        "key": "payments.charge/1",
        "attempt": 1,
        "agent": "payments",
        "operation": "payments.charge",
        "undo": False,
        "input": b'["o1",5,"\xc3\xa9"]',
        "complete_by": complete_by,
        "idempotency_key": f"{task}/1/payments.charge/1",
        "undoes": None,
        "reply_to": "replies.scheduler-1",
        "priority": 5,
    }
    made = Request(**{**given, **fields})
    return made if "proof" in fields else proven(made)


def reply(task: str = "uid-1", **fields: Any) -> Reply:
    given: dict[str, Any] = {"task": task, "run": 1, "key": "payments.charge/1", "attempt": 1, "agent": "payments"}
    made = Reply(**{**given, "outcome": Outcome.COMPLETED, "output": b"{}", **fields})
    return made if "proof" in fields else proven(made)


def progress(told: bytes = b"1", task: str = "uid-1", **fields: Any) -> Progress:
    given: dict[str, Any] = {"task": task, "run": 1, "key": "payments.charge/1", "attempt": 1, "agent": "payments"}
    return proven(Progress(**{**given, "progress": told, "at": 1_800_000_000.5, **fields}))


async def keep_identity(app: App) -> None:
    """Give the new store of an application the identity of the messages that are made up here."""
    store = open_store(app.settings.store, app=app.name, environment=app.environment)
    await store.open()
    assert await store.host.identity(IDENTITY) == IDENTITY
    await store.close()


async def signer_of(store: Store) -> Signer:
    """That of a store at work."""
    return Signer(await store.host.identity(StoreIdentity("unused", b"")))


def proven(message: Proven, signer: Signer = SIGNER) -> Proven:
    """The message with the proof of its attempt."""
    proof = signer.proof(message.task, message.run, message.key, message.attempt, message.agent)
    return replace(message, proof=proof)
