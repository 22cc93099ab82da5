"""The application; `stepward run examples/orders/app.py:app` runs all of it.

Its settings come from the environment: `STEPWARD_STORE`, `STEPWARD_TRANSPORT` and the others.
"""

from __future__ import annotations

from examples.orders import agents, submission
from examples.orders.workflows import WORKFLOWS
from stepward import App

app = App(
    "orders",
    workflows=WORKFLOWS.values(),
    agents=[agents.stock, agents.payment, agents.parcel, agents.mail],
)
app.submission(submission.QUEUE, accept=submission.accept)
