from __future__ import annotations

import pytest

from stepward.errors import IllegalTransition
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, TASK_MOVES, TaskState
from stepward.model.tasks.directives import CARRIED_OUT_BY_OWNER, FROM, SETTLED, DirectiveVerb, judge

OWNED = [TaskState.PROCESSING, TaskState.WAITING, TaskState.SUSPENDED, TaskState.UNDOING]


def task(state: TaskState, owner: str | None = None, **fields: object) -> Task:
    undo_to = TaskState.UNDONE if state in (TaskState.UNDOING, TaskState.UNDONE) else None
    made = Task(uid="u", id="order-1", workflow="w", version="1", state=state, locked_by=owner, undo_to=undo_to)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("verb", DirectiveVerb)
@pytest.mark.parametrize("state", TaskState)
def test_a_free_task_goes_only_where_the_model_lets_it(verb: DirectiveVerb, state: TaskState) -> None:
    if state not in FROM[verb] | SETTLED.get(verb, frozenset()):
        with pytest.raises(IllegalTransition, match=f"{verb} of task order-1: expected .*found it {state}"):
            judge(verb, task(state))
        return
    verdict = judge(verb, task(state))
    assert not verdict.by_owner
    assert verdict.after is state or verdict.after in TASK_MOVES[state]


@pytest.mark.parametrize("verb", DirectiveVerb)
@pytest.mark.parametrize("state", OWNED)
def test_an_owned_task_is_moved_by_its_owner_alone(verb: DirectiveVerb, state: TaskState) -> None:
    owned = task(state, "s1")
    if state in SETTLED.get(verb, frozenset()):
        assert judge(verb, owned).after is state
    elif verb in CARRIED_OUT_BY_OWNER and state in FROM[verb]:
        verdict = judge(verb, owned)
        assert (verdict.after, verdict.by_owner) == (state, True)
    else:
        with pytest.raises(IllegalTransition, match="by s1"):
            judge(verb, owned)


@pytest.mark.parametrize(("verb", "end"), [("undo", TaskState.UNDONE), ("cancel", TaskState.CANCELLED)])
@pytest.mark.parametrize("state", [TaskState.WAITING, TaskState.SUSPENDED, TaskState.ERROR])
def test_undo_and_cancel_turn_a_task_round(verb: str, end: TaskState, state: TaskState) -> None:
    verdict = judge(verb, task(state))
    assert (verdict.after, verdict.undo_to) == (TaskState.UNDOING, end)


def test_only_what_never_started_and_has_no_parent_is_cancelled_at_once() -> None:
    assert judge("cancel", task(TaskState.PENDING)).after is TaskState.CANCELLED
    assert judge("cancel", task(TaskState.PENDING, started_at=1.0)).after is TaskState.UNDOING
    assert judge("cancel", task(TaskState.PENDING, parent="p")).after is TaskState.UNDOING


@pytest.mark.parametrize("verb", ["resubmit", "mark_done"])
def test_a_task_that_failed_while_undoing_goes_on_undoing(verb: str) -> None:
    assert judge(verb, task(TaskState.ERROR)).after is TaskState.PENDING
    verdict = judge(verb, task(TaskState.ERROR, undo_to=TaskState.CANCELLED))
    assert (verdict.after, verdict.undo_to) == (TaskState.UNDOING, TaskState.CANCELLED)


def test_a_refusal_names_the_possible_directives() -> None:
    with pytest.raises(IllegalTransition, match=r"possible now: undo$"):
        judge("resume", task(TaskState.PROCESSED))
    with pytest.raises(IllegalTransition, match="nothing can be asked of it any more"):
        judge("resume", task(TaskState.CANCELLED))
    with pytest.raises(IllegalTransition, match=r"expected one of undo, cancel, .*found 'explode'"):
        judge("explode", task(TaskState.PENDING))


def test_every_end_that_can_be_left_is_left_by_some_directive() -> None:
    left = frozenset().union(*FROM.values()) & TASK_ENDS
    assert left == {state for state in TASK_ENDS if TASK_MOVES[state]}
