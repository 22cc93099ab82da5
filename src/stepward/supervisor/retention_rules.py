"""Conditions for old tasks, by the rules for workflows and states: pure, as conditions of a search."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.states import TaskState
from stepward.settings.readers import RetentionRule
from stepward.store.search.conditions import AllOf, AnyOf, Comparison, Condition, Negation, Operator
from stepward.store.search.fields import SearchField

DELETED = (TaskState.PROCESSED, TaskState.UNDONE, TaskState.CANCELLED)
"""The ends of tasks that retention deletes; tasks in error are kept."""


def old_tasks(age: float | None, rules: Sequence[RetentionRule], now: float) -> list[Condition]:
    """A condition for each rule, and one for the tasks that none is about; no task fulfils two.

    The rule for a workflow and a state comes before the one for the workflow, and that before the one for the state.
    """
    found: list[Condition] = []
    before: list[Condition] = []
    for rule in [*sorted(rules, key=_rank), RetentionRule(None, None, age)]:
        if rule.age is not None:
            ended = Comparison(SearchField.ENDED, Operator.LESS, now - rule.age)
            others = [Negation(each) for each in before]
            found.append(AllOf((*_tasks_of(rule), _states_of(rule), ended, *others)))
        before.append(AllOf((*_tasks_of(rule), _states_of(rule))))
    return found


def _rank(rule: RetentionRule) -> int:
    return 2 * (rule.workflow is None) + (rule.state is None)


def _tasks_of(rule: RetentionRule) -> list[Condition]:
    return [] if rule.workflow is None else [Comparison(SearchField.WORKFLOW, Operator.EQUAL, rule.workflow)]


def _states_of(rule: RetentionRule) -> Condition:
    states = [state.value for state in DELETED] if rule.state is None else [rule.state]
    equal = [Comparison(SearchField.STATE, Operator.EQUAL, state) for state in states]
    return equal[0] if len(equal) == 1 else AnyOf(tuple(equal))
