from __future__ import annotations

import pytest
from msgspec.structs import astuple, fields

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.store.postgres.engine.column_arrays import columns_of
from stepward.store.postgres.hot import compact_rows
from stepward.store.postgres.hot.compact_rows import COMPACT_FORMS

STEP = Step(task="t", run=1, key="pay/1", number=1, name="pay", kind=StepKind.OPERATION, state=StepState.RUNNING)


@pytest.mark.parametrize(("record", "values"), [(Task, compact_rows.TASK), (Step, compact_rows.STEP)])
def test_the_usual_values_are_those_that_a_new_record_has(record: type, values: dict[str, object]) -> None:
    defaults = {field.name: field.default for field in fields(record)}
    assert {name: defaults[name] for name in values} == values


def test_rows_that_are_as_usual_are_sent_without_what_is_usual() -> None:
    rows = [astuple(STEP), astuple(STEP)]
    split = COMPACT_FORMS["insert_step"]
    assert split.fits(rows)
    sent = dict(zip(split.others, split.sent(columns_of(rows)), strict=True))
    assert sent["key"] == ("pay/1", "pay/1")
    assert not set(sent) & set(compact_rows.STEP)


def test_one_row_that_is_not_has_all_columns_sent() -> None:
    done = astuple(Step(**{name: getattr(STEP, name) for name in STEP.__struct_fields__} | {"ordinal": 3}))
    assert not COMPACT_FORMS["insert_step"].fits([astuple(STEP), done])
