"""Rows and alerts of the Supervisor's verbs."""

from __future__ import annotations

from typing import Any

import msgspec

from stepward.model.records import Alert, InboxKind, Instance, Role
from stepward.model.states import StepKind, TaskState
from stepward.store.contract import (
    Decision,
    ExpiredStep,
    ExpiredTask,
    Post,
)

ACTOR = "supervisor"
MOST_HANGS = 2
"""How often code of a task may hold up an event loop for a whole lease; then the task is an operator's."""


def recovery_limit_post(task: str, recoveries: int) -> Post:
    """A task that outlived too many owners is to fail."""
    message = f"expected Schedulers to survive the task, found {recoveries} dead in a row; look at what it does"
    body = msgspec.json.encode({"type": "TooManyRecoveries", "message": message})
    return Post(task=task, kind=InboxKind.FAIL, body=body, sender=ACTOR)


def hang_posts(task: str, hangs: int, sender: str, where: str) -> list[Post]:
    """A task whose code held up event loops too often is to fail."""
    if hangs < MOST_HANGS:
        return []
    message = (
        f"expected code that yields to the event loop, found it held up for a lease {hangs} times, last at {where}"
    )
    advice = "wait with await, move what blocks into a plain function, then resubmit"
    body = msgspec.json.encode({"type": "Hangs", "message": f"{message}; {advice}"})
    return [Post(task=task, kind=InboxKind.FAIL, body=body, sender=sender)]


def decision_posts(decision: Decision) -> list[Post]:
    """What the owner reads of a decision: that the step's row has changed, and what follows."""
    posts = list(decision.posts)
    if not any(post.kind is InboxKind.STEP and post.task == decision.task for post in posts):
        name = f"{decision.run}/{decision.key}"
        posts.insert(0, Post(task=decision.task, kind=InboxKind.STEP, name=name, sender=ACTOR))
    return posts


TRIED_AT_ONCE = 10_000
"""Tasks that wait for code that fits, made claimable by the Scheduler that starts; more come when they are due."""


def served(instance: Instance) -> list[str]:
    """What an alert may have reported as unserved: a Scheduler's workflows, an instance's Agents."""
    return instance.serves if instance.role in (Role.SCHEDULER, Role.AGENT) else []


def unserved_alert(workflow: str, version: str) -> Alert:
    """Tasks that no live Scheduler serves."""
    return Alert(
        kind="unserved",
        message=f"workflow {workflow}@{version}: expected a Scheduler that serves it, found none; start one",
        details=msgspec.json.encode({"workflow": workflow, "version": version}),
    )


def expired_step(row: Any) -> ExpiredStep:
    """A row with an expired step's fields in their order."""
    fields = dict(zip(ExpiredStep.__struct_fields__, row, strict=True))
    return ExpiredStep(**{**fields, "kind": StepKind(fields["kind"]), "task_state": TaskState(fields["task_state"])})


def expired_task(row: Any) -> ExpiredTask:
    """A row with an expired task's fields in their order."""
    uid, id, state, deadline, policy, failures, allowed = row
    return ExpiredTask(
        task=uid,
        task_id=id,
        state=TaskState(state),
        deadline=deadline,
        policy=policy,
        failure_count=failures,
        allowed=allowed,
    )
