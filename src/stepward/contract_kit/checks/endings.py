"""Checks of the end of an Agent's process: a crash, and SIGTERM."""

from __future__ import annotations

import asyncio

from stepward.contract_kit.bench import PATIENCE, QUIET, START, CheckSkipped, ContractBench, Drain, described, expect
from stepward.model.messages.requests import Outcome


async def returns_after_a_crash(bench: ContractBench) -> None:
    """A request whose Agent is killed is delivered again, and called under the same key."""
    process = bench.own_process()
    case = bench.service.case(is_held=True)
    request = await bench.call(case)
    await process.kill()
    await bench.restarted()
    await bench.changes.until(lambda: len(case.calls) > 1, PATIENCE + 2 * bench.options.lease)
    expect(len(case.calls) > 1, "the request of the killed process delivered again", "it is lost")
    case.release()
    reply = await bench.reply_to(request)
    expect(reply.outcome is Outcome.COMPLETED, "completed after the restart", described([reply]))


async def finishes_its_work(bench: ContractBench) -> None:
    """After SIGTERM the Agent answers what it works on, and its process ends with exit code 0."""
    drain = await _drained(bench)
    expect(drain.answered, "the reply to the call that was under way at SIGTERM", "none")
    expect(drain.exit_code == 0, "exit code 0", "it still runs" if drain.exit_code is None else drain.exit_code)


async def takes_nothing_new(bench: ContractBench) -> None:
    """After SIGTERM the Agent takes no further request; the next process answers it."""
    drain = await _drained(bench)
    expect(not drain.began_new, "no request taken after SIGTERM", "one was performed")
    expect(drain.answered_after_restart, "that request answered by the next process", "none")


async def announces_its_end(bench: ContractBench) -> None:
    """After SIGTERM the Agent announces a capacity of 0."""
    if bench.options.reports_to_store:
        raise CheckSkipped("an Agent in Python reports its capacity to the store")
    drain = await _drained(bench)
    expect(drain.announced_zero, "an announcement with capacity 0 after SIGTERM", "none")


async def _drained(bench: ContractBench) -> Drain:
    """Have the Agent drain, once for the whole run."""
    if bench.drain is None:
        bench.drain = await _drain(bench)
    return bench.drain


async def _drain(bench: ContractBench) -> Drain:
    process, drain = bench.own_process(), Drain()
    held, later = bench.service.case(is_held=True), bench.service.case()
    request = await bench.call(held)
    announced = len(bench.scheduler.announcements)
    process.terminate()
    await asyncio.sleep(QUIET)
    waiting = bench.scheduler.request("call", later.body)
    await bench.scheduler.send(waiting)
    await asyncio.sleep(QUIET)
    held.release()
    replies = bench.scheduler.arrival.replies
    await bench.changes.until(lambda: bool(replies(request)), PATIENCE)
    drain.answered = bool(replies(request))
    drain.exit_code = await process.ended(PATIENCE)
    drain.began_new = bool(later.calls)
    after = bench.scheduler.announcements[announced:]
    drain.announced_zero = any(health.capacity == 0 for _, _, health in after)
    await process.kill()
    await process.start()
    await bench.changes.until(lambda: bool(replies(waiting)), START + 2 * bench.options.lease)
    drain.answered_after_restart = bool(replies(waiting))
    return drain
