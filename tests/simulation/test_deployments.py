"""Wrong deploys: what each makes of a plan, and which codes a record may fit."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.application.deployments import ADDED, DEPLOYMENTS, asks, worlds_of

PLAN = ["sequence", ["operation", "pay.charge", 1, False], ["sleep", 1.0]]


def test_the_first_deployment_is_the_right_one_and_every_other_differs() -> None:
    right, *wrong = [understood(PLAN) for understood in DEPLOYMENTS]
    assert right == PLAN
    assert PLAN not in wrong
    assert len({str(plan) for plan in wrong}) == len(wrong)


@pytest.mark.parametrize("plan", [["child", "undo", PLAN, False], ["sequence"], ["bug"]])
def test_every_deployment_understands_every_plan(plan: list[Any]) -> None:
    for understood in DEPLOYMENTS:
        changed = understood(plan)
        assert changed
        assert isinstance(changed[0], str)


def test_a_record_may_fit_each_deployment_with_each_setting_of_the_flags_that_the_plan_asks_for() -> None:
    plan = [["flag", "f0", PLAN, ["sequence", ["flag", "f1", PLAN, ADDED]]]]
    assert asks(plan, "f1")
    assert not asks(PLAN, "f0")
    assert [*worlds_of([PLAN])] == [(number, {}) for number in range(len(DEPLOYMENTS))]
    found = list(worlds_of(plan))
    assert len(found) == 4 * len(DEPLOYMENTS)
    assert found[0] == (0, {"f0": True, "f1": True})
