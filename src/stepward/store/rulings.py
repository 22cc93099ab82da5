"""What every store says and decides alike, from records alone: no store's own words or statements are in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stepward.errors import IllegalTransition, InstanceFenced, TaskNotFound
from stepward.model.messages import Outcome, Reply
from stepward.model.records import Alert, Audit, InboxKind, Instance, Role, Step, Task
from stepward.model.states import STEP_MOVES, TASK_ENDS, StepKind, StepState, TaskState
from stepward.store.contract import Change, Decision, Directive, ExpiredStep, ExpiredTask, Finish, Outlived, Post
from stepward.store.contract.retention import BATCH_BYTES, BATCH_ROWS

ACTOR = "supervisor"
AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
UNDONE = frozenset({TaskState.UNDOING, TaskState.UNDONE, TaskState.CANCELLED})
NOTHING = (b"null", b"{}")
DIRECTIVES = frozenset({InboxKind.UNDO, InboxKind.CANCEL, InboxKind.SUSPEND})
FINAL = TASK_ENDS - {TaskState.ERROR, TaskState.PROCESSED}
"""Ends that no operator reopens."""
RECORDED = {Outcome.COMPLETED: StepState.COMPLETED, Outcome.FAILED: StepState.FAILED}


def fenced(instance: str) -> InstanceFenced:
    """The instance may write no more."""
    return InstanceFenced(
        f"instance {instance}: expected it alive, found it dead or never registered; register a new one"
    )


def is_owners(change: Change) -> bool:
    """Whether the change is one that only the task's owner may make; anybody may post."""
    return bool(
        change.inserts
        or change.fills
        or change.finishes
        or change.move
        or change.dispatches
        or change.watches
        or change.delivers
        or change.step_moves
        or change.taken
        or change.children
        or change.telling
    )


def not_found(id: str) -> TaskNotFound:
    """There is no task of that id."""
    return TaskNotFound(f"task {id}: expected a task of that id, found none; look at the id")


def signal_too_late(task: Task, name: str) -> IllegalTransition:
    """A signal for a task that has ended."""
    return IllegalTransition(
        f"signal {name} to task {task.id}: expected one that has not ended, found it {task.state}; look at the id"
    )


def blamed(task: Task) -> str | None:
    """The step that the task's error names."""
    error: Any = msgspec.json.decode(task.error) if task.error else None
    if isinstance(error, dict) and error.get("cause") and task.undo_to is None:
        # Undo was barred: what is to be mended is what it was begun for.
        error = error["cause"]
    step = error.get("step") if isinstance(error, dict) else None
    return step if isinstance(step, str) else None


def wrong_state(task: Task, step: Step, verb: str, expected: str) -> IllegalTransition:
    """The step stands where the directive cannot be carried out."""
    return IllegalTransition(
        f"{verb} of step {step.key} of task {task.id}: expected it {expected}, found it {step.state}; "
        "choose another step"
    )


def chosen_step(task: Task, directive: Directive, step: Step | None) -> Step | None:
    """Of the step found by the directive's key, or by the one that the task's error names, what is meant."""
    if directive.step is None:
        return step if step is not None and step.state is StepState.FAILED else None
    if step is None:
        raise IllegalTransition(
            f"{directive.verb} of task {task.id}: expected a step {directive.step}, found none; "
            "look at the task's steps"
        )
    return step


def check_resubmit(task: Task, directive: Directive, step: Step | None) -> None:
    """Raise IllegalTransition for an edited input that is no step's, or a step that cannot be repeated."""
    if step is None and directive.input is not None:
        raise IllegalTransition(
            f"resubmit of task {task.id}: expected a step for the edited input, found none; name it"
        )
    if step is None or step.state is StepState.FAILED:
        return
    if step.state not in AT_WORK or directive.input is not None:
        raise wrong_state(task, step, "resubmit", "failed")


def check_child(task: Task, step: Step, directive: Directive, child: Task | None) -> Task:
    """The child task with which a resubmitted step goes on; raises IllegalTransition where there is none."""
    if child is None or child.state in UNDONE or directive.input is not None:
        found = "a new input" if directive.input is not None else f"it {child.state if child else 'gone'}"
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected a child task to go on with, found {found}; "
            "submit another task, and mark the step as done"
        )
    return child


def check_mark(task: Task, step: Step | None, *, is_last: bool) -> Step:
    """The step to be marked as done; ``is_last``: the workflow was told nothing after its result."""
    if step is None:
        raise IllegalTransition(f"mark_done of task {task.id}: expected a step that failed, found none; name the step")
    is_last_done = step.state is StepState.COMPLETED and is_last
    if StepState.COMPLETED not in STEP_MOVES[step.state] and not is_last_done:
        raise wrong_state(task, step, "mark_done", "one that has not ended well")
    return step


def audited(task: Task, directive: Directive, step: str | None, after: TaskState) -> Audit:
    """The act of an operator."""
    given = {"input": directive.input, "result": directive.result}
    details = {name: msgspec.Raw(data) for name, data in given.items() if data is not None}
    return Audit(
        actor=directive.actor,
        act=directive.verb,
        task=task.uid,
        step=step,
        before=task.state,
        after=after,
        details=msgspec.json.encode(details),
    )


def child_told(child: Task, step: Step) -> Post:
    """What a parent is told of a child that was mended meanwhile."""
    body = {"state": child.state, "output": msgspec.Raw(child.output or b"null"), "error": None}
    name = f"{step.run}/{step.key}"
    return Post(task=step.task, kind=InboxKind.CHILD, name=name, body=msgspec.json.encode(body))


def told_again(child: Task, parent: Task | None, post: Post) -> Post | None:
    """A child that its parent's directive no longer moves tells its end again: the parent may wait for just that."""
    if parent is None or parent.id != post.sender or parent.state in TASK_ENDS:
        return None
    ended = {"state": child.state, "output": _raw(child.output), "error": _raw(child.error)}
    name = f"{child.parent_run}/{child.parent_step}"
    body = msgspec.json.encode(ended)
    return Post(task=parent.uid, kind=InboxKind.CHILD, name=name, body=body, sender=child.id)


def parent_of(uid: str) -> tuple[str, str]:
    """The uid of the parent in a child's uid, PARENT/RUN/NAME/COUNT, and the place of its step there."""
    parent, *place = uid.rsplit("/", 3)
    return parent, "/".join(place)


def told_gone(parent: Task | None, post: Post) -> Post | None:
    """A parent does not wait for a child whose record is no longer kept."""
    if parent is None or parent.id != post.sender or parent.state in TASK_ENDS:
        return None
    body = msgspec.json.encode({"state": "gone", "output": None, "error": None})
    return Post(task=parent.uid, kind=InboxKind.CHILD, name=parent_of(post.task)[1], body=body, sender=post.task)


def _raw(data: bytes | None) -> msgspec.Raw:
    return msgspec.Raw(data or b"null")


def recorded(reply: Reply, now: float) -> Finish | None:
    """The outcome that a reply records for a task without an owner; None if it is none."""
    state = RECORDED.get(reply.outcome)
    if state is None:
        return None
    return Finish(
        task=reply.task,
        run=reply.run,
        key=reply.key,
        attempt=reply.attempt,
        state=state,
        output=reply.output,
        error=reply.error,
        in_doubt=state is StepState.FAILED and reply.maybe_done,
        ordinal=None,
        finished_at=now,
    )


def handed_on(reply: Reply) -> Post:
    """The inbox row by which a reply reaches the task's owner."""
    name = f"{reply.run}/{reply.key}"
    return Post(task=reply.task, kind=InboxKind.REPLY, name=name, body=msgspec.json.encode(reply))


def late_reply(reply: Reply) -> Audit:
    """A reply that fits nothing any more."""
    return Audit(actor="agent", act="late_reply", task=reply.task, step=reply.key, after=reply.outcome)


def late_effect(task: Task, reply: Reply) -> Alert:
    """A success that came after the undo of its step began."""
    return Alert(
        kind="late_effect_after_undo",
        task=task.uid,
        task_id=task.id,
        step=reply.key,
        message=f"{task.id}: {reply.key} took effect after its undo began; look whether the effect stands",
    )


def fence_audit(instance: Instance) -> Audit:
    """The Supervisor declares an instance dead."""
    details = msgspec.json.encode({"instance": instance.id})
    return Audit(actor=ACTOR, act="fence", before="alive", after="dead", details=details)


def give_up(task: str, recoveries: int) -> Post:
    """A task that outlived too many owners is to fail."""
    message = f"expected Schedulers to survive the task, found {recoveries} dead in a row; look at what it does"
    body = msgspec.json.encode({"type": "TooManyRecoveries", "message": message})
    return Post(task=task, kind=InboxKind.FAIL, body=body, sender=ACTOR)


def told(decision: Decision) -> list[Post]:
    """What the owner reads of a decision: that the step's row has changed, and what follows."""
    posts = list(decision.posts)
    if not any(post.kind is InboxKind.STEP and post.task == decision.task for post in posts):
        name = f"{decision.run}/{decision.key}"
        posts.insert(0, Post(task=decision.task, kind=InboxKind.STEP, name=name, sender=ACTOR))
    return posts


def served(instance: Instance) -> list[str]:
    """What an alert may have said that nobody serves: a Scheduler's workflows, an instance's Agents."""
    return instance.serves if instance.role in (Role.SCHEDULER, Role.AGENT) else []


def acknowledged(number: int, actor: str) -> Audit:
    """Somebody has seen to an alert."""
    return Audit(actor=actor, act="acknowledge", details=b'{"alert":%d}' % number)


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
    uid, id, state, complete_by, policy = row
    return ExpiredTask(task=uid, task_id=id, state=TaskState(state), complete_by=complete_by, policy=policy)


def dead_letter_alert(queue: str, reason: str, now: float) -> Alert:
    """The first message of a queue that nobody can use."""
    message = f"messages in {queue} cannot be used: {reason}; see stepward dead-letters"
    return Alert(at=now, kind="dead_letter", message=message, details=msgspec.json.encode({"queue": queue}))


def behind(prefix: str) -> str:
    """The first text that sorts behind all that begin with ``prefix``, by code points."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def letter_audit(actor: str, act: str, number: int, queue: str) -> Audit:
    """What an operator did with a dead letter."""
    details = msgspec.json.encode({"dead_letter": number, "queue": queue})
    return Audit(actor=actor, act=act, details=details)


def schedule_audit(actor: str, act: str, name: str) -> Audit:
    """What an operator did with a recurring task."""
    return Audit(actor=actor, act=act, details=msgspec.json.encode({"schedule": name}))


def agent_audit(actor: str, act: str, name: str, note: str | None) -> Audit:
    """What an operator did with an Agent."""
    details = {"agent": name} if note is None else {"agent": name, "note": note}
    return Audit(actor=actor, act=act, details=msgspec.json.encode(details))


def batch(found: Sequence[Any]) -> list[Outlived]:
    """Of old tasks, each with what deleting it costs, the first that one transaction should delete; one at least."""
    weighed = [(Outlived(uid, finished_at), rows, bytes_ or 0) for uid, finished_at, rows, bytes_ in found]
    if len(weighed) > 1 and sum(rows for _, rows, _ in weighed) >= BATCH_ROWS:
        # Not all rows of the last one were looked at.
        weighed.pop()
    chosen, left = list[Outlived](), BATCH_BYTES
    for task, _, bytes_ in weighed:
        left -= bytes_
        if chosen and left < 0:
            break
        chosen.append(task)
    return chosen


def purge_audit(actor: str, tasks: int, before: float) -> Audit:
    """An operator deleted tasks that had ended."""
    return Audit(actor=actor, act="purge", details=msgspec.json.encode({"tasks": tasks, "ended_before": before}))
