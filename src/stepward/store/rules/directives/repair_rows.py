"""The rows that a repair writes: what is set aside, repeated, undone first or taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from stepward.model.effects import (
    LEFT_OPEN,
    SET_ASIDE,
    asked_as,
    child_id,
    generation_key,
    key_of,
    needs_undo,
    never_ran,
    undo_key,
    undo_step,
)
from stepward.model.pipeline_plan import NO_INPUT
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Directive, Doubt, Later, Post
from stepward.store.rules import inbox_rules
from stepward.store.rules.directives import allowed_directives
from stepward.store.rules.directives.concerned_steps import doubtful, has_effect, is_replayed, later_steps, replayed

AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT, StepState.NOT_STARTED})
SIGNAL_KEY = "signal:"


class Repair(Struct):
    """What a repair writes: rows in the place of others, children started again or resubmitted, and inbox rows."""

    step: str | None = None
    rows: dict[tuple[int, str], list[Step]] = field(default_factory=dict)
    """By run and key, what stands in the place of that row."""
    added: list[Step] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Places of child steps whose ends are deleted from the inbox: they are repeated."""
    begun: list[Task] = field(default_factory=list)
    resubmitted: list[Task] = field(default_factory=list)
    details: dict[str, list[str]] = field(default_factory=dict)
    """What the audit says of it beside the directive itself."""

    @property
    def gone(self) -> list[tuple[int, str]]:
        """The rows that others replace."""
        return list(self.rows)

    @property
    def inserted(self) -> list[Step]:
        """The rows that replace them, and new ones."""
        return [*(step for steps in self.rows.values() for step in steps), *self.added]

    def note(self, what: str, key: str) -> None:
        """Have the audit name the step."""
        self.details.setdefault(what, []).append(key)


class RepairWork:
    """One repair in the making."""

    def __init__(
        self, task: Task, steps: Sequence[Step], directive: Directive, children: Mapping[str, Task], now: float
    ) -> None:
        self.repair = Repair()
        self._task = task
        self._steps = steps
        self._directive = directive
        self._children = children
        self._now = now
        self._keys = {(step.run, step.key): step for step in steps}
        self._aside: dict[tuple[int, str], int] = {}
        for step in steps:
            if step.set_aside_at is not None:
                self._count(step)

    def write(self, step: Step, *after: Step) -> None:
        """Have rows stand in the place of ``step``, beside the generations that were put there already."""
        self.repair.rows.setdefault((step.run, step.key), []).extend(after)

    def settle_doubt(self, step: Step) -> bool:
        """Settle every generation in doubt as the operator says; whether one of the step itself was."""
        directive = self._directive
        found = doubtful(self._steps, step)
        if not found or (directive.input is None and directive.doubt is None):
            return False
        allowed_directives.check_doubt(self._task, directive, step, found)
        for generation in found:
            self._settle(step, generation)
        return step in found

    def rewind(self, step: Step) -> None:
        """Set aside what came after the step's outcome; what it only answered later is delivered again."""
        later = later_steps(self._task, self._steps, step)
        acted = [s for s in later if has_effect(s)]
        allowed_directives.check_later(self._task, self._directive, step, acted)
        for s in later:
            self._set_aside(s)
        for s in sorted(later, key=lambda s: s.ordinal or 0):
            if s.kind is StepKind.SIGNAL and s.state is StepState.COMPLETED:
                self._put_back(s)
        if is_replayed(self._task, step) and step.ordinal is not None:
            for s in replayed(self._steps, step):
                if s is not step and s not in later:
                    self._take_back(s, step.ordinal)

    def repeat(self, step: Step, *, new_generation: bool = False) -> None:
        """Have a failed step repeated; after a known failure, or with another input, as a new generation."""
        if step.kind is StepKind.CHILD:
            self._repeat_child(step)
            return
        input = self._directive.input
        again = self._once_more(step)
        if new_generation or not step.in_doubt or input is not None:
            again = replace(again, generation=self._next_generation(step), started_at=None, in_doubt=False)
        self.write(step, again if input is None else replace(again, input=input))

    def drop(self, step: Step) -> None:
        """The workflow waits for another signal instead of the one that it took."""
        aside = self._copy_aside(step)
        self.write(step, aside)
        self.repair.note("dropped", aside.key)

    def repeat_too(self, step: Step) -> None:
        """Repeat a step whose expiry was not delivered, or an undo that failed, under its key if it is in doubt."""
        if step.kind is StepKind.CHILD:
            child = self._children.get(key_of(step))
            if child is not None and child.undo_to is None and self._task.undo_to is None:
                self._repeat_child(step)
            return
        self.write(step, self._once_more(step))

    def _once_more(self, step: Step) -> Step:
        """The step under the key that it had if it is in doubt, else as a new generation."""
        return replace(
            step,
            state=StepState.TO_REPEAT,
            repeat_at=self._now,
            ordinal=None,
            asked=None,
            finished_at=None,
            output=None,
            generation=step.generation if step.in_doubt else self._next_generation(step),
        )

    def _settle(self, step: Step, generation: Step) -> None:
        happened = self._directive.doubt is not Doubt.DID_NOT_HAPPEN
        kept = generation if generation is not step else self._copy_aside(step)
        if not happened:
            kept = replace(kept, in_doubt=False, state=StepState.FAILED)
        self.write(generation, kept)
        self.repair.note("undo_first" if happened else "did_not_happen", kept.key)
        if happened:
            self.repair.added.append(_undo_of(kept))

    def _set_aside(self, step: Step) -> None:
        state = step.state
        if state in AT_WORK:
            state = StepState.SKIPPED if never_ran(step) else StepState.ABANDONED
        aside = replace(self._copy_aside(step), state=state)
        self.write(step, aside)
        self.repair.note("set_aside", aside.key)
        undo = self._keys.get((step.run, undo_key(step)))
        if undo is not None:
            moved = replace(undo, key=undo_key(aside))
            self.write(undo, self._once_more(moved) if undo.state is StepState.FAILED else moved)
        elif self._directive.later is Later.UNDO and needs_undo(aside) and not step.irreversible:
            self.repair.added.append(_undo_of(aside))
            self.repair.note("undo_first", aside.key)

    def _take_back(self, step: Step, ordinal: int) -> None:
        """A step that stays was answered only afterwards, or may have been given up then: it is so no more."""
        if step.ordinal is not None and step.ordinal > ordinal:
            self.write(step, replace(step, ordinal=None, asked=None))
        elif step.kind is not StepKind.CHILD and self._is_taken_back(step):
            self._set_aside(step)
            again = replace(self._once_more(step), generation=self._next_generation(step), asked=LEFT_OPEN)
            self.write(step, replace(again, in_doubt=False, error=None, started_at=None))
        elif step.kind is not StepKind.CHILD and step.state in (StepState.ABANDONED, StepState.SKIPPED):
            # The code gives it up again if it had done so before; else it waits for its answer.
            state = StepState.NOT_STARTED if step.state is StepState.SKIPPED else StepState.TO_REPEAT
            self.write(step, replace(step, state=state, repeat_at=self._now, asked=LEFT_OPEN))

    def _is_taken_back(self, step: Step) -> bool:
        """Whether it is undone, or its undo has begun: it must not be undone again under the same key."""
        return step.state is StepState.UNDONE or (
            step.state is StepState.ABANDONED and (step.run, undo_key(step)) in self._keys
        )

    def _repeat_child(self, step: Step) -> None:
        """The step waits for its child again: in error it is resubmitted, undone it is started again.

        Once the task's undo has begun, its steps stand, and a child goes on with nothing but an undo of its own.
        """
        child = allowed_directives.check_child(self._task, step, self._directive, self._children.get(key_of(step)))
        if self._task.undo_to is not None:
            if child.state is TaskState.ERROR and child.undo_to is not None:
                self.repair.resubmitted.append(child)
            return
        waiting = replace(
            step,
            state=StepState.RUNNING,
            attempt=step.attempt + 1,
            started_at=self._now,
            repeat_at=None,
            in_doubt=False,
            error=None,
            ordinal=None,
            asked=None,
            finished_at=None,
            output=None,
        )
        if child.state in allowed_directives.UNDONE:
            waiting = replace(waiting, generation=self._next_generation(step))
            former = replace(self._copy_aside(step), state=StepState.UNDONE, in_doubt=False)
            self.write(step, former, waiting)
            self.repair.begun.append(_another_child(self._task, child, waiting, self._now))
            return
        self.write(step, waiting)
        if child.state is TaskState.ERROR:
            self.repair.resubmitted.append(child)
        elif child.state is TaskState.PROCESSED:
            self.repair.posts.append(inbox_rules.mended_child_post(child, step))

    def _put_back(self, step: Step) -> None:
        """A signal that was taken is given again to what waits for it."""
        name = step.name.removeprefix(SIGNAL_KEY)
        post = Post(task=self._task.uid, kind=InboxKind.SIGNAL, name=name, body=step.output or b"null")
        self.repair.posts.append(post)

    def _copy_aside(self, step: Step) -> Step:
        count = self._count(step)
        key = f"{asked_as(step)}{SET_ASIDE}{count}"
        return replace(step, key=key, set_aside_at=self._now, watched=False, repeat_at=None)

    def _count(self, step: Step) -> int:
        place = (step.run, asked_as(step))
        self._aside[place] = self._aside.get(place, 0) + 1
        return self._aside[place]

    def _next_generation(self, step: Step) -> int:
        place = (step.run, step.key)
        twins = [s.generation for s in self._steps if (s.run, asked_as(s)) == place]
        return 1 + max([step.generation, *twins])


def _undo_of(step: Step) -> Step:
    """The undo that the operator wants first; the result that it receives is known when it begins."""
    return replace(undo_step(step), input=NO_INPUT)


def _another_child(parent: Task, child: Task, step: Step, now: float) -> Task:
    """A child like the one that was undone, at its beginning."""
    return Task(
        uid=key_of(step),
        id=child_id(parent, step),
        workflow=child.workflow,
        version=child.version,
        priority=child.priority,
        fairness_key=child.fairness_key,
        labels=child.labels,
        input=step.input,
        deadline=None if child.deadline is None else now + (child.deadline - child.created_at),
        parent=parent.uid,
        parent_run=step.run,
        parent_step=generation_key(step.key, step.generation),
        depth=child.depth,
        created_at=now,
    )
