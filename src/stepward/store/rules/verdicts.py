"""What every store says and decides alike, from records alone: no store's own words or statements are in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from stepward.errors import IllegalTransition, InstanceFenced, TaskConflict, TaskNotFound
from stepward.model import failures, stopped_tasks
from stepward.model.effects import key_of, place_name
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Alert, Audit, InboxKind, Instance, Role, Step, Task
from stepward.model.states import STEP_MOVES, TASK_ENDS, StepKind, StepState, TaskState
from stepward.payload import is_json, readable
from stepward.store.contract import (
    AuditedAct,
    Change,
    Decision,
    Directive,
    Doubt,
    ExpiredStep,
    ExpiredTask,
    Finish,
    Outlived,
    Post,
    Submitted,
)
from stepward.store.contract.retention import BATCH_BYTES, BATCH_ROWS
from stepward.store.rules.audit_chain import PRUNED

ACTOR = "supervisor"
AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
UNDONE = frozenset({TaskState.UNDONE, TaskState.CANCELLED})
NOTHING = (b"null", b"{}")
DIRECTIVES = frozenset({InboxKind.UNDO, InboxKind.CANCEL, InboxKind.SUSPEND})
TASK_EXPIRED = "TaskExpired"
"""The type of the error of a task that was not done by its own deadline."""
MENDED = "stepward"
"""Who has seen to the alerts of a task that is mended, for the audit."""
BY_HAND = ("in_doubt", "late_effect", "late_effect_after_undo", "unserved")
"""Alerts on what is not over when their task goes on: somebody must look outside, or serve what is not served."""
FINAL = TASK_ENDS - {TaskState.ERROR, TaskState.PROCESSED}
"""Ends that no operator reopens."""
ASKED_BYTES = 63
"""How much of a request's body is indexed: to the end of a uid."""
MOST_DEAD_LETTERS = 1_000
"""Dead letters of one queue that are kept; what comes beyond is counted and dropped."""
MOST_DEAD_LETTER_BYTES = 64 * 1024 * 1024
"""Bytes of the dead letters of one queue beyond which no more are kept."""
DEAD_LETTERS_KEPT_SECONDS = 90 * 86_400.0
"""How long a dead letter waits for an operator before it is deleted."""
MOST_HANGS = 2
"""How often code of a task may hold up an event loop for a whole lease; then the task is an operator's."""
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
        or change.complete_by
    )


def not_found(id: str) -> TaskNotFound:
    """There is no task of that id."""
    return TaskNotFound(
        f"task {id if id.isprintable() else repr(id)}: expected a task of that id, found none; look at the id"
    )


def check_same(submitted: Sequence[Submitted]) -> None:
    """Raises TaskConflict if one of the ids is that of a task with another workflow or other arguments."""
    for each in submitted:
        if not each.same:
            raise TaskConflict(
                f"id {each.id!r}: expected a new id, or the same workflow and arguments, found a task with others; "
                "choose another id"
            )


def signal_too_late(task: Task, name: str) -> IllegalTransition:
    """A signal for a task that has ended."""
    return IllegalTransition(
        f"signal {name} to task {task.id}: expected one that has not ended, found it {task.state}; look at the id"
    )


def signal_audit(task: Task, post: Post, actor: str) -> Audit:
    """An operator gave the task a signal."""
    details = {"signal": post.name} | ({"id": post.sender} if post.sender else {})
    return Audit(actor=actor, act="signal", task=task.uid, before=task.state, details=msgspec.json.encode(details))


def blamed(task: Task) -> str | None:
    """The step that the task's error names."""
    error: Any = failures.read(task.error)
    if error.get("cause") and task.undo_to is None:
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


def check_retry(task: Task, directive: Directive) -> None:
    """Raise IllegalTransition where a resubmission names a step of a task whose code does not fit its record."""
    found = directive.step or _of_a_step(directive)
    if found is not None:
        raise IllegalTransition(
            f"resubmit of task {task.id}: expected nothing of a step, because its code does not fit its record and "
            f"is only tried again; found {found}; leave it out"
        )


def _of_a_step(directive: Directive) -> str | None:
    """What the directive says that has a meaning for a step alone."""
    if directive.input is not None:
        return "an edited input"
    if directive.later is not None:
        return f"a word on what was done later (later={directive.later})"
    return None if directive.doubt is None else f"a word on attempts in doubt (doubt={directive.doubt})"


def check_resubmit(task: Task, directive: Directive, step: Step | None) -> None:
    """Raise IllegalTransition for what is said of a step where none is repeated, or one that cannot be repeated."""
    given = _of_a_step(directive)
    if step is None and given is not None:
        raise IllegalTransition(
            f"resubmit of task {task.id}: expected a step for {given}, found none that its error names; "
            "name it (step=…)"
        )
    if step is not None:
        _check_repeatable(task, directive, step)
        _check_count(task, directive, step)
    if step is None or step.state is StepState.FAILED or (is_taken_signal(step) and directive.input is None):
        return
    if step.state not in AT_WORK or directive.input is not None:
        raise wrong_state(task, step, "resubmit", "failed")


def _check_repeatable(task: Task, directive: Directive, step: Step) -> None:
    """What a later generation stands for is only undone; and once undo has begun, nothing goes forward anew."""
    whose = f"resubmit of step {step.key} of task {task.id}"
    if step.set_aside_at is not None:
        raise IllegalTransition(
            f"{whose}: expected a step of the record, found one that is set aside; name the step that took its place, "
            "or its undo"
        )
    if task.undo_to is not None and directive.input is not None and step.kind is not StepKind.UNDO:
        raise IllegalTransition(
            f"{whose}: expected no edited input once the task's undo has begun, found one; resubmit without it, or "
            "give the step's result with mark_done"
        )


def _check_count(task: Task, directive: Directive, step: Step) -> None:
    """Refuse an edited input with more or fewer arguments than are recorded: all of them, with their defaults, are."""
    edited, recorded = readable(directive.input), readable(step.input)
    if isinstance(edited, list) and isinstance(recorded, list) and len(edited) != len(recorded):
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected an edited input of as many arguments as the "
            f"step was asked for with, {len(recorded)}, found {len(edited)}; give all of them"
        )


def check_child(task: Task, step: Step, directive: Directive, child: Task | None) -> Task:
    """The child task with which a resubmitted step goes on; raises IllegalTransition where there is none."""
    if child is not None and child.state is TaskState.UNDOING:
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected its child {child.id} to have ended, found it "
            "being undone; resubmit again when it is undone"
        )
    if child is None or directive.input is not None:
        found = "a new input" if directive.input is not None else "its record gone"
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected a child task to go on with, found {found}; "
            "submit another task, and mark the step as done"
        )
    return child


def is_taken_signal(step: Step) -> bool:
    """Whether the workflow was given a signal: an operator may have it wait for another instead."""
    return step.kind is StepKind.SIGNAL and step.state is StepState.COMPLETED and step.set_aside_at is None


def check_deadline(task: Task, directive: Directive, now: float) -> None:
    """Raise IllegalTransition where a task past its own deadline would go on without a new one."""
    if directive.deadline is None and is_past_deadline(task, now):
        raise IllegalTransition(
            f"{directive.verb} of task {task.id}: expected it within its own complete-by, found that past; "
            "give it a new one (complete_by=…)"
        )


def is_past_deadline(task: Task, now: float) -> bool:
    """Whether the task's own time is over; no deadline reaches what is being undone."""
    is_late = task.deadline is not None and task.deadline <= now
    return task.undo_to is None and (is_late or _error_type(task) == TASK_EXPIRED)


def _error_type(task: Task) -> object:
    return failures.read(task.error).get("type")


def check_doubt(task: Task, directive: Directive, step: Step, found: Sequence[Step]) -> None:
    """Raise IllegalTransition, with the choices, where attempts in doubt are not settled by what the operator says."""
    names = ", ".join(key_of(each).removeprefix(f"{task.uid}/") for each in found)
    whose = f"{directive.verb} of step {step.key} of task {task.id}"
    can_undo = all(each.has_undo for each in found)
    by_hand = "look whether it happened: say so with did_not_happen, or give its result with mark_done"
    if directive.doubt is None:
        choices = f"undo it first (doubt=undo), or {by_hand}" if can_undo else by_hand
        raise IllegalTransition(
            f"{whose}: expected no attempt in doubt under the old input, found {names} maybe done; {choices}"
        )
    if directive.doubt is Doubt.UNDO and not can_undo:
        raise IllegalTransition(f"{whose}: expected an undo of what is in doubt, found none of {names}; {by_hand}")


def check_later(task: Task, directive: Directive, step: Step, acted: Sequence[Step]) -> None:
    """Raise IllegalTransition, with the choices, where a repair would set aside what acted, and nobody said how."""
    if acted and directive.later is None:
        names = ", ".join(each.key for each in acted)
        raise IllegalTransition(
            f"{directive.verb} of step {step.key} of task {task.id}: expected nothing done after its failure was told, "
            f"found {names}, which would be set aside; say whether to undo that first (later=undo) or keep it "
            "(later=keep)"
        )


def check_mark(task: Task, step: Step | None, *, is_last: bool) -> Step:
    """The step to be marked as done; ``is_last``: the workflow was told nothing after its result."""
    if step is None:
        raise IllegalTransition(f"mark_done of task {task.id}: expected a step that failed, found none; name the step")
    is_last_done = step.state is StepState.COMPLETED and (is_last or is_taken_signal(step))
    if StepState.COMPLETED not in STEP_MOVES[step.state] and not is_last_done:
        raise wrong_state(task, step, "mark_done", "one that has not ended well")
    return step


def audited(
    task: Task,
    directive: Directive,
    step: str | None,
    after: TaskState,
    more: Mapping[str, Any] | None = None,
) -> Audit:
    """The act of an operator."""
    given = {"input": directive.input, "result": directive.result}
    details: dict[str, Any] = {name: msgspec.Raw(data) for name, data in given.items() if data is not None}
    said = {"doubt": directive.doubt, "later": directive.later}
    details |= {name: word for name, word in said.items() if word is not None} | dict(more or {})
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
    body = {"state": child.state, "output": _raw(child.output), "error": None}
    return Post(task=step.task, kind=InboxKind.CHILD, name=place_name(step), body=msgspec.json.encode(body))


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
    return msgspec.Raw(data if data and is_json(data) else b"null")


def recorded(reply: Reply, step: Step | None, now: float) -> Finish | None:
    """The outcome that a reply records for a step of a task without an owner; None if it is none."""
    state = RECORDED.get(reply.outcome)
    if state is None or step is None:
        return None
    has_failed = state is StepState.FAILED
    maybe_done = has_failed and (step.in_doubt or reply.maybe_done)
    error = reply.error
    if has_failed:
        error = failures.settled(error, attempt=reply.attempt, maybe_done=maybe_done, before=step.error)
    return Finish(
        task=reply.task,
        run=reply.run,
        key=reply.key,
        attempt=reply.attempt,
        state=state,
        output=reply.output,
        error=error,
        in_doubt=maybe_done,
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


def denied_effect(task: Task, reply: Reply) -> Alert:
    """A success of an attempt of which a repair was told that it did not happen."""
    return Alert(
        kind="late_effect",
        task=task.uid,
        task_id=task.id,
        step=reply.key,
        message=f"{task.id}: attempt {reply.attempt} of {reply.key} succeeded, though a repair recorded that it did "
        "not happen; check its effect by hand",
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


def hung(task: str, hangs: int, sender: str, where: str) -> list[Post]:
    """A task whose code held up event loops too often is to fail."""
    if hangs < MOST_HANGS:
        return []
    message = (
        f"expected code that yields to the event loop, found it held up for a lease {hangs} times, last at {where}"
    )
    advice = "wait with await, move what blocks into a plain function, then resubmit"
    body = msgspec.json.encode({"type": "Hangs", "message": f"{message}; {advice}"})
    return [Post(task=task, kind=InboxKind.FAIL, body=body, sender=sender)]


def hang_audit(task: str, hangs: int, sender: str, where: str) -> Audit:
    """Code of a task held up an event loop."""
    return Audit(actor=sender, act="hang", task=task, details=msgspec.json.encode({"hangs": hangs, "at": where}))


def told(decision: Decision) -> list[Post]:
    """What the owner reads of a decision: that the step's row has changed, and what follows."""
    posts = list(decision.posts)
    if not any(post.kind is InboxKind.STEP and post.task == decision.task for post in posts):
        name = f"{decision.run}/{decision.key}"
        posts.insert(0, Post(task=decision.task, kind=InboxKind.STEP, name=name, sender=ACTOR))
    return posts


TRIED_AT_ONCE = 10_000
"""Tasks that wait for code that fits, made claimable by the Scheduler that starts; more come when they are due."""


def served(instance: Instance) -> list[str]:
    """What an alert may have said that nobody serves: a Scheduler's workflows, an instance's Agents."""
    return instance.serves if instance.role in (Role.SCHEDULER, Role.AGENT) else []


def is_tried_again(task: Task, after: TaskState) -> bool:
    """Whether a task whose code did not fit is tried again at once: it waits on as far as anybody is told."""
    return task.state is TaskState.WAITING and after is TaskState.PENDING


def is_mended(task: Task, after: TaskState) -> bool:
    """Whether the task leaves ``error``: what was told of it is seen to."""
    return task.state is TaskState.ERROR and after is not TaskState.ERROR


def settling(details: bytes, now: float) -> tuple[Any, ...]:
    """What tells whether the alert of a place where code did not fit is over: the parameters of ``settle``."""
    place = msgspec.json.decode(details)
    until = now + stopped_tasks.LONGEST_RETRY
    values = (place["workflow"], place["version"], place["place"])
    return (now, MENDED, details, stopped_tasks.WAITS_FOR, until, *values)


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


def is_full(dead_letters: int, letter_bytes: int) -> bool:
    """Whether a queue has as many dead letters as are kept of one."""
    return dead_letters >= MOST_DEAD_LETTERS or letter_bytes >= MOST_DEAD_LETTER_BYTES


def dead_letter_alert(queue: str, reason: str, now: float, *, count: int, dropped: int, before: bytes = b"{}") -> Alert:
    """The one alert on messages of a queue that nobody can use; ``before``: its details, which count on."""
    known = msgspec.json.decode(before, type=dict[str, Any])
    count, dropped = known.get("count", 0) + count, known.get("dropped", 0) + dropped
    lost = f", of which {dropped:,} were not kept as there are too many" if dropped else ""
    message = f"messages in {queue} cannot be used: {reason} ({count:,} so far{lost}); see stepward dead-letters"
    details = {"queue": queue, "count": count, "dropped": dropped}
    return Alert(at=now, kind="dead_letter", message=message, details=msgspec.json.encode(details))


def behind(prefix: str) -> str:
    """The first text that sorts behind all that begin with ``prefix``, by code points."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def among_asked(beginning: bytes) -> tuple[bytes, bytes]:
    """Between what the indexed beginnings of requests lie that begin so; no text in UTF-8 holds that last byte."""
    start = beginning[:ASKED_BYTES]
    return start, start + b"\xff"


def dead_letter_audit(actor: str, act: str, number: int, queue: str) -> Audit:
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


def prunable(acts: Sequence[AuditedAct], before: float) -> Sequence[AuditedAct]:
    """Those at the beginning that are older than ``before``; none if they tell of nothing but pruning."""
    old = list(takewhile(lambda act: act.audit.at < before, acts))
    return old if any(act.audit.act != PRUNED for act in old) else []


def purge_audit(actor: str, tasks: int, before: float) -> Audit:
    """An operator deleted tasks that had ended."""
    return Audit(actor=actor, act="purge", details=msgspec.json.encode({"tasks": tasks, "ended_before": before}))
