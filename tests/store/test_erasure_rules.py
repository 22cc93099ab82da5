"""The events of an erased task and its descendants are looked for once in each queue."""

from __future__ import annotations

from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store.rules.erasure import Descendant, event_queues


def test_each_queue_is_looked_through_once_for_a_task_and_its_descendants() -> None:
    task = Task(
        uid="u1",
        id="o",
        workflow="order",
        version="1",
        input=b"[]",
        reply_to="replies.shop.web",
        events_to="webhooks.shop.crm:j",
    )
    below = [
        Descendant(f"u1/1/ship/{n}", f"o/ship/{n}", TaskState.PROCESSED, None, "webhooks.shop.crm webhooks.shop.erp")
        for n in range(9)
    ]
    queues = ["replies.shop.web", "webhooks.shop.crm", "webhooks.shop.erp"]
    assert event_queues(task, below) == [(queue, b"u1") for queue in queues]
