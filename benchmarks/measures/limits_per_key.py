"""What limits for each key cost, where 100,000 keys have permits: throughput and CPU beside those without a limit.

Ten-step tasks, each with a key of its own. Rounds with a number at once, with a number and a rate, and with no limit
alternate, and each round's figures are compared with one another, so that all meet the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.application import act, service
from benchmarks.loads import AT_ONCE, concurrently, ratio
from benchmarks.store_locations import Place
from stepward import App, Client, Limit, Transaction, workflow
from stepward.workflow.definition import Workflow

ROUNDS = 7
TASKS = 1_500
WARM = 200
KEYS = 100_000
PLACES = {"sqlite": "stepward_task_permit", "postgresql": "stepward_bench.task_permit"}
FILL = """
insert into {place} (task, name, key, held, priority)
with recursive n (i) as (select 1 union all select i + 1 from n where i < {keys})
select 'other-' || i, 'workflow:{workflow}', 'other-' || i, {held}, 5 from n
"""


async def _ten_steps(text: str) -> None:
    for n in range(10):
        await act(text, n)


unbounded = workflow(name="unbounded")(_ten_steps)
capped = workflow(name="capped", limit=Limit(2, per="key"))(_ten_steps)
rated = workflow(name="rated", limit=Limit(2, rate="100/s", per="key"))(_ten_steps)
KINDS: Mapping[str, Workflow[Any, None]] = {"none": unbounded, "capped": capped, "rated": rated}


class Cost(NamedTuple):
    """What a round took."""

    seconds: float
    cpu: float


async def limits_per_key(
    place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS, keys: int = KEYS
) -> dict[str, float]:
    """By kind of limit: throughput and CPU as parts of those without a limit; medians of the rounds' ratios."""
    found: dict[str, list[Cost]] = {kind: [] for kind in KINDS}
    for number in range(rounds):
        order = list(KINDS)[number % len(KINDS) :] + list(KINDS)[: number % len(KINDS)]
        for kind in order:
            found[kind].append(await _round(place, KINDS[kind], tasks, keys))
    bare = found["none"]
    figures = {"unbounded_tasks_per_s": tasks / sorted(cost.seconds for cost in bare)[rounds // 2]}
    for kind in ("capped", "rated"):
        figures[f"{kind}_throughput"] = ratio([cost.seconds for cost in bare], [cost.seconds for cost in found[kind]])
        figures[f"{kind}_cpu"] = ratio([cost.cpu for cost in found[kind]], [cost.cpu for cost in bare])
    return figures


async def _round(place: Place, measured: Workflow[Any, None], tasks: int, keys: int) -> Cost:
    address = await place.fresh()
    app = App("bench", workflows=[measured], agents=[service], store=address)
    async with app.running(), app.client() as client:
        async with client.transaction() as transaction:
            await _fill(transaction, address, measured.name, keys)
        await _run(client, measured, min(WARM, tasks), "warm")
        cpu, server, began = time.process_time(), place.server_seconds(), time.perf_counter()
        await _run(client, measured, tasks, "key")
        seconds = time.perf_counter() - began
        return Cost(seconds, time.process_time() - cpu + place.server_seconds() - server)


async def _fill(transaction: Transaction, address: str, name: str, keys: int) -> None:
    """Permits of so many other keys."""
    store = address.partition(":")[0]
    held = "1" if store == "sqlite" else "true"
    await transaction.execute(FILL.format(place=PLACES[store], keys=keys, workflow=name, held=held))


async def _run(client: Client, measured: Workflow[Any, None], tasks: int, keys: str) -> None:
    async def one(n: int) -> None:
        await (await client.submit(measured, f"order {n}", fairness_key=f"{keys}-{n}")).result()

    await concurrently(AT_ONCE, tasks, one)
