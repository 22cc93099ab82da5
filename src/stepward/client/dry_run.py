"""Dry runs of directives: the store's own rules on the records of the store, with nothing changed."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.errors import IllegalTransition
from stepward.model.effects import child_id, key_of
from stepward.model.records import Step, Task
from stepward.model.states import StepKind
from stepward.model.tasks.directives import DirectiveVerb, judge
from stepward.store.contract import ClientStore, Directive
from stepward.store.rules.directives.concerned_steps import concerned_children
from stepward.store.rules.directives.directive_effects import marking, resubmission
from stepward.store.rules.directives.repair_rows import Repair
from stepward.workflow.undo_planner import Barred, plan

UNDOING = frozenset({DirectiveVerb.UNDO, DirectiveVerb.CANCEL})


async def would_work(store: ClientStore, task: Task, steps: Sequence[Step], directive: Directive) -> bool:
    """Whether the store would carry out ``directive``, and an undo would not be barred by what cannot be undone."""
    if await refusal(store, task, steps, directive) is not None:
        return False
    return directive.verb not in UNDOING or not isinstance(plan(steps, store.now()), Barred)


async def refusal(store: ClientStore, task: Task, steps: Sequence[Step], directive: Directive) -> str | None:
    """What the store would say instead of carrying out ``directive``; None if it would carry it out."""
    try:
        judge(directive.verb, task)
        repair = await _repaired(store, task, steps, directive)
    except IllegalTransition as error:
        return str(error)
    again = Directive(verb=DirectiveVerb.RESUBMIT, actor=directive.actor, deadline=directive.deadline)
    for child in repair.resubmitted:
        refused = await refusal(store, child, await store.steps(child.id), again)
        if refused is not None:
            return refused
    return None


async def _repaired(store: ClientStore, task: Task, steps: Sequence[Step], directive: Directive) -> Repair:
    if directive.verb == DirectiveVerb.MARK_DONE:
        return marking(task, steps, directive, store.now())
    if directive.verb != DirectiveVerb.RESUBMIT:
        return Repair()
    wanted = set(concerned_children(steps, directive))
    ids = [child_id(task, step) for step in steps if step.kind is StepKind.CHILD and key_of(step) in wanted]
    found = [await store.task(id) for id in ids]
    children = {child.uid: child for child in found if child is not None}
    return resubmission(task, steps, directive, children, store.now())
