"""Deploys that go wrong: other workflow code under the same name and version, and flags that code reads as it runs.

A deployment makes another plan of the one that a task was given, wherever its code runs. Number 0 is the right one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

DeploymentPlan = list[Any]
FLAG = "flag"
FLAGS = ("f0", "f1")
"""What plans may ask for; once the faults are over all are on."""
ADDED = ["operation", "pay.note", 9_000_001, True]
JOINING = frozenset({"sequence", "gather", "race"})


def _same(plan: DeploymentPlan) -> DeploymentPlan:
    return plan


def _renamed(plan: DeploymentPlan) -> DeploymentPlan:
    changed: DeploymentPlan = json.loads(
        json.dumps(plan).replace('"pay.charge"', '"pay.note"').replace('"local"', '"booked"')
    )
    return changed


def _without_its_first(plan: DeploymentPlan) -> DeploymentPlan:
    return [plan[0], *plan[2:]] if plan[0] in JOINING and len(plan) > 2 else plan


def _with_one_in_front(plan: DeploymentPlan) -> DeploymentPlan:
    return ["sequence", ADDED, plan]


def _with_one_behind(plan: DeploymentPlan) -> DeploymentPlan:
    return ["sequence", plan, ADDED]


def _reversed(plan: DeploymentPlan) -> DeploymentPlan:
    return [plan[0], *plan[:0:-1]] if plan[0] in JOINING else plan


def _at_once(plan: DeploymentPlan) -> DeploymentPlan:
    return ["gather", *plan[1:]] if plan[0] == "sequence" else ["sequence", *plan[1:]] if plan[0] == "gather" else plan


def _with_a_typo(plan: DeploymentPlan) -> DeploymentPlan:
    return ["sequence", plan[1] if plan[0] in JOINING and len(plan) > 1 else plan, ["typo"]]


DEPLOYMENTS: tuple[Callable[[DeploymentPlan], DeploymentPlan], ...] = (
    _same,
    _renamed,
    _without_its_first,
    _with_one_in_front,
    _with_one_behind,
    _reversed,
    _at_once,
    _with_a_typo,
)
"""What the code of each deployment makes of a plan."""


def asks(plan: Any, flag: str) -> bool:
    """Whether the code that follows a plan reads the flag."""
    return isinstance(plan, list) and (plan[:2] == [FLAG, flag] or any(asks(part, flag) for part in plan))


def worlds_of(plan: DeploymentPlan) -> Iterator[tuple[int, dict[str, bool]]]:
    """Every deployment with every setting of the flags that the plan asks for; the right ones come first."""
    asked = [flag for flag in FLAGS if asks(plan, flag)]
    for settings in product((True, False), repeat=len(asked)):
        for deployment in range(len(DEPLOYMENTS)):
            yield deployment, dict(zip(asked, settings, strict=True))
