"""The application; `stepward run examples/orders/app.py:app` runs all of it.

What `make_app` is not given comes from the environment: `STEPWARD_STORE`, `STEPWARD_TRANSPORT` and the others.
"""

from __future__ import annotations

from typing import Any

from examples.orders import agents, submission
from examples.orders.workflows import WORKFLOWS
from stepward import App


def make_app(**settings: Any) -> App:
    """Workflows, Agents and the queue of submissions under one name."""
    app = App("orders", workflows=WORKFLOWS.values(), agents=agents.AGENTS, **settings)
    app.submission(submission.QUEUE, accept=submission.accept)
    return app


app = make_app()
