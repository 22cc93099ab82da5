from __future__ import annotations

from typing import Any

from stepward.model.messages import Outcome, Progress, Reply, Request


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
    return Request(**{**given, **fields})


def reply(task: str = "uid-1", **fields: Any) -> Reply:
    given: dict[str, Any] = {"task": task, "run": 1, "key": "payments.charge/1", "attempt": 1}
    return Reply(**{**given, "outcome": Outcome.COMPLETED, "output": b"{}", **fields})


def progress(told: bytes = b"1", task: str = "uid-1", **fields: Any) -> Progress:
    given: dict[str, Any] = {"task": task, "run": 1, "key": "payments.charge/1", "attempt": 1}
    return Progress(**{**given, "progress": told, "at": 1_800_000_000.5, **fields})
