"""Celery: a task that was sent by ``.delay`` is submitted durably, by the same function."""

from __future__ import annotations

from celery import Celery

from stepward import Agent, App, Retry
from stepward.integrations.celery import from_celery_task

worker = Celery("shop", broker="memory://")
sent: list[str] = []


@worker.task(name="shop.send_invoice", autoretry_for=(ConnectionError,))  # type: ignore[untyped-decorator]
def send_invoice(order: str, copies: int = 1) -> str:
    if not order:
        raise ValueError("no order")
    if order.endswith("~"):
        sent.append(order)
        if sent.count(order) < 3:
            raise ConnectionError("the mail server is away")
    return f"{copies} of invoice {order}"


mail = Agent("mail", retry=Retry(attempts=4, initial="10ms"))
send_invoice_durably = from_celery_task(send_invoice, mail)


def make_app(store: str | None = None) -> App:
    """The application, on the store of the settings if none is named."""
    return App("shop", workflows=[send_invoice_durably], agents=[mail], store=store)
