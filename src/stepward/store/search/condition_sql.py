"""Conditions as SQL on the task ``t``: fields come from the allow-list, values are parameters, and no expression is
null."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stepward.model.states import StepState, TaskState
from stepward.store.search.conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operator,
    Presence,
)
from stepward.store.search.dialect import SearchDialect, SqlValues
from stepward.store.search.fields import ALWAYS_THERE, SearchField

COLUMNS = {
    SearchField.ID: "t.id",
    SearchField.STATE: "t.state",
    SearchField.WORKFLOW: "t.workflow",
    SearchField.VERSION: "t.version",
    SearchField.PRIORITY: "t.priority",
    SearchField.FAILURES: "t.failure_count",
    SearchField.CREATED: "t.created_at",
    SearchField.ENDED: "t.finished_at",
    SearchField.DEADLINE: "t.deadline",
}
ENDED_WELL = (TaskState.PROCESSED, TaskState.UNDONE, TaskState.CANCELLED)
"""States of tasks that wait for no step."""
OPEN_STEPS = (StepState.RUNNING, StepState.NOT_STARTED, StepState.TO_REPEAT, StepState.FAILED)
"""States of steps by which a task is found: running, waiting or failed."""
LAST_CHARACTER = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)


def rendered(condition: Condition, dialect: SearchDialect, values: SqlValues) -> str:
    """The condition as an SQL expression that is true or false."""
    match condition:
        case AllOf(parts):
            return _joined(" and ", "true", [rendered(part, dialect, values) for part in parts])
        case AnyOf(parts):
            return _joined(" or ", "false", [rendered(part, dialect, values) for part in parts])
        case Negation(part):
            return f"not {rendered(part, dialect, values)}"
        case Presence(field, name):
            return _present(field, name, dialect, values)
        case Comparison():
            return _compared(condition, dialect, values)


def named(field: SearchField, name: str) -> str:
    """The name of a label or an attribute in the table of both."""
    return f"{field}.{name}"


class ValueTest(NamedTuple):
    """A test of a row ``f`` of labels and attributes whose values have one type."""

    kind: str
    operator: Operator
    value: str | float

    def indexed(self, values: SqlValues) -> str:
        """An SQL expression by which an index finds the rows of all tasks."""
        column = "text" if isinstance(self.value, str) else "number"
        return f"f.{column} is not null and {self.of_task(values, '')}"

    def of_task(self, values: SqlValues, unindexed: str) -> str:
        """An SQL expression on the rows of one task, which are found by the task."""
        if isinstance(self.value, str):
            return _text_test(f"{unindexed}f.text", self.operator, self.value, values)
        return (
            f"{unindexed}f.kind = '{self.kind}' and {unindexed}f.number {self.operator} {values.parameter(self.value)}"
        )


def value_tests(comparison: Comparison) -> list[ValueTest]:
    """The tests of a comparison with a label or an attribute; a row that fulfils it fulfils exactly one."""
    value, operator = comparison.value, comparison.operator
    if isinstance(value, bool):
        return [ValueTest("boolean", operator, float(value))]
    if isinstance(value, float):
        return [ValueTest("number", operator, value)]
    text = ValueTest("text", operator, value)
    return [text] if comparison.instant is None else [text, ValueTest("time", operator, comparison.instant)]


def after(prefix: str) -> str | None:
    """The first text, in the order of code points, after all texts with that prefix; None if there is none."""
    for place in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[place]) + 1
        if following in SURROGATES:
            following = SURROGATES.stop
        if following <= LAST_CHARACTER:
            return prefix[:place] + chr(following)
    return None


def _joined(word: str, empty: str, parts: list[str]) -> str:
    return f"({word.join(parts)})" if parts else empty


def _compared(comparison: Comparison, dialect: SearchDialect, values: SqlValues) -> str:
    field, operator, value = comparison.field, comparison.operator, comparison.value
    if field in (SearchField.LABEL, SearchField.ATTRIBUTE):
        name = values.parameter(named(field, comparison.name))
        tests = " or ".join(f"({test.of_task(values, dialect.unindexed)})" for test in value_tests(comparison))
        return f"exists (select 1 from {dialect.search} as f where f.task = t.uid and f.name = {name} and ({tests}))"
    if field is SearchField.AGENT:
        return _open_step(dialect, values, lambda: _text_test("s.agent", operator, str(value), values))
    if field is SearchField.STEP:
        return _open_step(dialect, values, lambda: _step_test(operator, str(value), values))
    if field is SearchField.ERROR_TYPE:
        test = _text_test(dialect.error_type, operator, str(value), values)
        return f"(t.error is not null and {dialect.error_type} is not null and {test})"
    column = COLUMNS[field]
    test = (
        _text_test(column, operator, value, values)
        if isinstance(value, str)
        else f"{column} {operator} {values.parameter(value)}"
    )
    return f"({test})" if field in ALWAYS_THERE else f"({column} is not null and {test})"


def _present(field: SearchField, name: str, dialect: SearchDialect, values: SqlValues) -> str:
    if field in ALWAYS_THERE:
        return "true"
    if field in (SearchField.LABEL, SearchField.ATTRIBUTE):
        wanted = values.parameter(named(field, name))
        return f"exists (select 1 from {dialect.search} as f where f.task = t.uid and f.name = {wanted})"
    if field is SearchField.AGENT:
        return _open_step(dialect, values, lambda: "s.agent is not null")
    if field is SearchField.STEP:
        return _open_step(dialect, values, lambda: "true")
    if field is SearchField.ERROR_TYPE:
        return f"(t.error is not null and {dialect.error_type} is not null)"
    return f"({COLUMNS[field]} is not null)"


def _open_step(dialect: SearchDialect, values: SqlValues, test: Callable[[], str]) -> str:
    ended = ", ".join(f"'{state}'" for state in ENDED_WELL)
    states = ", ".join(f"'{state}'" for state in OPEN_STEPS)
    return (
        f"(t.state not in ({ended}) and exists (select 1 from {dialect.step} as s where s.task = t.uid "
        f"and s.run = t.run and s.set_aside_at is null and s.state in ({states}) and {test()}))"
    )


def _step_test(operator: Operator, value: str, values: SqlValues) -> str:
    """A test of the step's name, or of its key, which has the occurrence after the name."""
    tests = [_text_test(column, operator, value, values) for column in ("s.name", "s.key")]
    return f"({' or '.join(tests)})"


def _text_test(column: str, operator: Operator, value: str, values: SqlValues) -> str:
    if operator is Operator.STARTS_WITH:
        return f"substr({column}, 1, {len(value)}) = {values.parameter(value)}"
    return f"{column} {operator} {values.parameter(value)}"
