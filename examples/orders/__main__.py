"""`python -m examples.orders`: put four orders into the application's queue, and print what became of each.

All of it in one process, on a SQLite file that is gone afterwards.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile

from examples.orders import agents, submission
from examples.orders.app import make_app
from examples.orders.database import OrderLine
from examples.orders.services import ANSWER_LOST, DOWN, Services, listening
from examples.orders.submission import OrderBody
from stepward import Client, Queues, StatusEvent

REPLIES = "replies.orders.example"
ENDS = {"stepward.task.completed", "stepward.task.undone", "stepward.task.failed"}
MARKS = {"completed": "✔", "failed": "✘", "undone": "↩"}
LINES = (OrderLine(product="teapot", quantity=2), OrderLine(product="kettle", quantity=1))
FAULTS = {("order-2", "charge"): [DOWN, DOWN], ("order-3", "charge"): [ANSWER_LOST]}
ORDERS = {
    "order-1": ("all goes well", "Harbour Street 5"),
    "order-2": ("the payment service is down, twice", "Mill Lane 2"),
    "order-3": ("the card is charged, and the answer lost", "Station Road 9"),
    "order-4": ("no address: nobody can deliver that", ""),
}


async def main() -> None:
    """Run the application until each order has ended."""
    # Refusals by a service are part of the example, and printed below.
    logging.getLogger("stepward").addHandler(logging.NullHandler())
    services = Services(FAULTS)
    with tempfile.TemporaryDirectory() as folder, listening(services) as url:
        for agent in agents.AGENTS:
            agent.base_url = url
        store = f"sqlite:///{folder}/orders.db"
        app = make_app(store=store)
        async with app.running(), app.client() as client, Queues(store, app=app.name) as queues:
            for order, (_, address) in ORDERS.items():
                body = OrderBody(customer="Ada", lines=LINES, address=address)
                await queues.post(submission.QUEUE, body, id=order, reply_to=REPLIES)
            for end in sorted(await _ends(queues), key=lambda event: event.subject):
                await _show(client, services, end)
    print(f"\n{services.kept('charge')} charges and {services.kept('create')} parcels stand at the services.")


async def _ends(queues: Queues) -> list[StatusEvent]:
    """The last event of each order, from the private response queue."""
    ends: list[StatusEvent] = []
    async for event in queues.events(REPLIES):
        ends += [event] if event.type in ENDS else []
        if len(ends) == len(ORDERS):
            break
    return ends


async def _show(client: Client, services: Services, end: StatusEvent) -> None:
    """What the order met, its steps as Stepward has recorded them, and how it ended."""
    order = end.subject
    print(f"\n{order}: {ORDERS[order][0]}")
    steps = await client.task(order).steps()
    for step in sorted(steps, key=lambda step: (step.kind == "undo", step.started_at or 0)):
        print(f"  {MARKS.get(step.state, '·')} {step.key:24} {step.state}")
    charged = sum(what == (order, "charge") for what in services.done.values())
    print(f"  payment was called {services.calls[order, 'charge']} ×, and charged {charged} ×")
    said = f"tracking number {end.data['result']}" if "result" in end.data else end.data["error"]["message"]
    print(f"  → {end.type.rpartition('.')[2]}: {said}")


if __name__ == "__main__":
    asyncio.run(main())
