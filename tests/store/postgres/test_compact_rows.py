from __future__ import annotations

import pytest
from msgspec.structs import astuple, fields, replace

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.store.postgres.engine.column_arrays import columns_of
from stepward.store.postgres.hot import compact_rows
from stepward.store.postgres.hot.compact_rows import COMPACT_FORMS, form_of

STEP = Step(task="t", run=1, key="pay/1", number=1, name="pay", kind=StepKind.OPERATION, state=StepState.RUNNING)


@pytest.mark.parametrize(("record", "values"), [(Task, compact_rows.TASK), (Step, compact_rows.STEP)])
def test_the_usual_values_are_those_that_a_new_record_has(record: type, values: dict[str, object]) -> None:
    defaults = {field.name: field.default for field in fields(record)}
    assert {name: defaults[name] for name in values} == values


def test_rows_that_are_as_usual_are_sent_without_what_is_usual() -> None:
    rows = [astuple(STEP), astuple(STEP)]
    split = COMPACT_FORMS["turn.insert_step"]
    assert split.fits(rows)
    sent = dict(zip(split.others, split.sent(columns_of(rows)), strict=True))
    assert sent["key"] == ("pay/1", "pay/1")
    assert not set(sent) & set(compact_rows.STEP)


def test_one_row_that_is_not_has_all_columns_sent() -> None:
    done = astuple(Step(**{name: getattr(STEP, name) for name in STEP.__struct_fields__} | {"ordinal": 3}))
    assert not COMPACT_FORMS["turn.insert_step"].fits([astuple(STEP), done])


def test_rows_that_are_alike_are_sent_one_value_for_all() -> None:
    rows = [astuple(STEP), astuple(replace(STEP, key="pay/2", number=2))]
    query, values = form_of("turn.insert_step", rows)
    form = COMPACT_FORMS["turn.insert_step"]
    sent = dict(zip([*form.unlike, *form.alike], values, strict=True))
    assert query == "turn.insert_step_alike"
    assert (sent["key"], sent["number"], sent["run"], sent["state"]) == (("pay/1", "pay/2"), (1, 2), 1, "running")


def test_one_row_that_differs_has_columns_sent() -> None:
    rows = [astuple(STEP), astuple(replace(STEP, state=StepState.NOT_STARTED))]
    assert form_of("turn.insert_step", rows)[0] == "turn.insert_step_compact"
    done = astuple(replace(STEP, ordinal=3))
    assert form_of("turn.insert_step", [*rows, done])[0] == "turn.insert_step"
