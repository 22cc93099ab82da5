"""`stepward contract-kit`: its options, its output, its exit codes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stepward.cli.commands import contract_kit
from stepward.cli.main import cli
from stepward.contract_kit.broker_run import ContractRun
from stepward.contract_kit.check_sequence import CheckResult, CheckState

RESULTS = (
    CheckResult(check="answers", title="It answers", state=CheckState.PASSED),
    CheckResult(
        check="proof", title="It proves", state=CheckState.FAILED, expected="a\x1b[1m", found="b", advice="do c"
    ),
    CheckResult(check="drains", title="It drains", state=CheckState.SKIPPED, reason="no command"),
)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[ContractRun]:
    """The runs that the command asks for; each has the results above."""
    found: list[ContractRun] = []

    async def run_contract(run: ContractRun, *_: Any) -> AsyncGenerator[CheckResult, None]:
        found.append(run)
        for result in RESULTS:
            yield result

    monkeypatch.delenv("STEPWARD_TRANSPORT", raising=False)
    monkeypatch.setattr(contract_kit, "run_contract", run_contract)
    return found


def stepward(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["contract-kit", *arguments])


def test_each_check_has_a_line_and_one_that_failed_is_exit_code_1(runs: list[ContractRun]) -> None:
    result = stepward("--broker", "nats://127.0.0.1", "--lease", "3s", "--", "node", "agent.mjs", "--only")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "✓ answers: It answers",
        "✗ proof: expected a\\x1b[1m, found b; do c",
        "– drains: skipped: no command",
        "1 passed, 1 failed, 1 skipped",
    ]
    (run,) = runs
    assert (run.command, run.options.lease, len(run.checks)) == (("node", "agent.mjs", "--only"), 3.0, 36)


def test_json_has_the_fields_of_the_results(runs: list[ContractRun]) -> None:
    result = stepward("--broker", "nats://127.0.0.1", "--json", "--only", "proof")
    assert [each["state"] for each in json.loads(result.stdout)] == ["passed", "failed", "skipped"]
    assert json.loads(result.stdout)[1]["advice"] == "do c"
    assert [check.name for check in runs[0].checks] == ["proof"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--broker: expected the address of a broker, found none; give it, or set STEPWARD_TRANSPORT"),
        (("--broker", "nats://h", "--only", "prof"), "did you mean 'proof'?"),
        (("--broker", "nats://h", "--lease", "1ms"), "--lease: expected 1 s or longer, found 1ms"),
        (("--broker", "nats://h", "--capacity", "65"), "1<=x<=64"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    runs: list[ContractRun], arguments: tuple[str, ...], words: str
) -> None:
    result = stepward(*arguments)
    assert (result.exit_code, runs) == (2, [])
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_broker_that_cannot_be_reached_is_exit_code_3() -> None:
    result = stepward("--broker", "nats://127.0.0.1:9", "--only", "proof")
    assert result.exit_code == 3
    assert "NATS" in result.stderr
