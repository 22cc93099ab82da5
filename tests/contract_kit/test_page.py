"""docs/agents-in-other-languages.md lists the checks that the kit makes, and the variables that it sets."""

from __future__ import annotations

import re
from pathlib import Path

from stepward.contract_kit.bench import BenchOptions
from stepward.contract_kit.broker_run import ContractRun, variables_of
from stepward.contract_kit.catalogue import CHECKS
from stepward.model.messages.signing import StoreIdentity

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents-in-other-languages.md").read_text("utf-8")
DUTIES = range(1, 11)


def test_the_page_has_the_checks_in_their_order_each_with_a_duty_of_the_wire() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| (\d+) \|$", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == [check.name for check in CHECKS]
    assert {int(duty) for _, duty in rows} <= set(DUTIES)


def test_the_page_names_every_variable() -> None:
    run = ContractRun(
        broker="nats://127.0.0.1", app="a", agent="b", command=(), options=BenchOptions(capacity=1, lease=1), checks=()
    )
    told = variables_of(run, StoreIdentity("c", b""), "http://127.0.0.1:1")
    assert [name for name in told if f"`{name}`" not in PAGE] == []


def test_every_check_says_what_it_expects_and_what_to_do() -> None:
    for check in CHECKS:
        assert check.title
        assert "`" not in check.title
        assert check.advice[0].islower()
