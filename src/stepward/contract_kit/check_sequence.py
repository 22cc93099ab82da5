"""Runs the checks one after the other, each against an idle Agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from enum import StrEnum

from msgspec import Struct

from stepward.contract_kit.bench import START, CheckFailed, CheckSkipped, ContractBench
from stepward.contract_kit.catalogue import CHECKS, FIRST, ContractCheck


class CheckState(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class CheckResult(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    check: str
    title: str
    state: CheckState
    expected: str | None = None
    found: str | None = None
    advice: str | None = None
    reason: str | None = None
    """The reason for which it was skipped."""


async def check_contract(
    bench: ContractBench, checks: Sequence[ContractCheck] = CHECKS
) -> AsyncGenerator[CheckResult, None]:
    """The results of the checks as they end; if the Agent answers nothing at all, the others are not made.

    The broker and the service are open. The process of the Agent is started if there is one. Raises TransportError if
    the broker is lost.
    """
    first = await _result(_CHECK_OF_START, bench)
    if first.state is CheckState.FAILED:
        yield first
        return
    for check in checks:
        yield await _result(check, bench)


async def _result(check: ContractCheck, bench: ContractBench) -> CheckResult:
    try:
        if bench.process is not None:
            await bench.restarted()
        await check.run(bench)
    except CheckFailed as error:
        return CheckResult(
            check=check.name,
            title=check.title,
            state=CheckState.FAILED,
            expected=error.expected,
            found=error.found,
            advice=check.advice,
        )
    except CheckSkipped as skipped:
        return CheckResult(check=check.name, title=check.title, state=CheckState.SKIPPED, reason=str(skipped))
    finally:
        bench.service.release_all()
    return CheckResult(check=check.name, title=check.title, state=CheckState.PASSED)


async def _starts(bench: ContractBench) -> None:
    """A request is answered within a minute."""
    request = bench.scheduler.request("echo", "ready")
    await bench.scheduler.send(request)
    await bench.reply_to(request, seconds=START)


_CHECK_OF_START = ContractCheck(FIRST, _starts, "see that it reaches the broker, and the application's queue")
