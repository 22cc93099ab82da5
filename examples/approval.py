"""A large order, which a person has to approve: the step waits for her, and nothing waits with it.

    python -m examples.approval

The approver gets a link with the step's completion token. The first order she approves, the second she turns down, and
the third she forgets: past its complete-by it is undone.
"""

from __future__ import annotations

import asyncio
import tempfile

from stepward import Agent, App, Client, CompletionRefused, StepFailed, Supervision, TaskUndone, current_step, workflow

approvals = Agent("approvals")
Links = asyncio.Queue[tuple[str, str]]
"""The approver's mailbox: orders and tokens. A real one would be mail, or a page that she opens."""


class ApprovalDesk:
    """Where links to approve orders arrive."""

    links: Links


@approvals.operation(complete_by="2s")
async def ask(order: str, cents: int) -> str:
    """Asks for an approval, and returns the approver; two days would be a better time to leave a person."""
    step = current_step()
    await ApprovalDesk.links.put((order, step.completion_token))
    step.finish_later()


@ask.undo
async def withdraw(approver: str | None, order: str, cents: int) -> None:
    """Tell the approver that there is nothing to approve any more."""
    print(f"{order}: never mind")


@workflow(supervision=Supervision(threshold=0, then="undo"))
async def fulfil(order: str, cents: int) -> str:
    """Ship an order, a large one only after its approval."""
    if cents >= 100_000:
        try:
            approver = await ask(order, cents)
        except StepFailed as error:
            return f"not shipped: {error}"
        return f"shipped, approved by {approver}"
    return "shipped"


async def approve(client: Client, links: Links) -> None:
    """What the approver does, one link after the other."""
    order, token = await links.get()
    await client.complete(token, "Grace", by="grace@example.org")
    try:
        await client.complete(token, "Mallory", by="mallory")
    except CompletionRefused as error:
        print(f"{order}: refused, {error.reason}")
    _, token = await links.get()
    await client.fail(token, "too much for one teapot", by="grace@example.org")


async def main() -> None:
    """Run three orders in a store of their own."""
    with tempfile.TemporaryDirectory() as folder:
        app = App("approval", workflows=[fulfil], agents=[approvals], store=f"sqlite:///{folder}/approval.db")
        ApprovalDesk.links = asyncio.Queue()
        async with app.running(supervisor_every="100ms"), app.client() as client:
            await order_some(client)


async def order_some(client: Client) -> None:
    """Submit the orders one by one, and say what became of each."""
    approving = asyncio.create_task(approve(client, ApprovalDesk.links))
    for order in ("A-1", "A-2"):
        task = await client.submit(fulfil, order, 250_000, id=order)
        print(f"{order}: {await task.result(timeout='1m')}")
    await approving
    task = await client.submit(fulfil, "A-3", 250_000, id="A-3")
    try:
        await task.result(timeout="1m")
    except TaskUndone as error:
        print(f"A-3: {error}")
    for entry in reversed(await client.audits("A-1")):
        print(f"audit of A-1: {entry.actor} {entry.act}")


if __name__ == "__main__":
    asyncio.run(main())
