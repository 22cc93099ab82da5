"""The sign on the shop's door: where everything is, and how to close."""

from __future__ import annotations

from examples.orders.processes.premises import Premises
from examples.orders.processes.process import Process


def sign(premises: Premises, storefront: Process, control: Process) -> str:
    """What a visitor reads once all is open."""
    places = [
        ("storefront", storefront.url, "order here"),
        ("control", control.url, "make the services misbehave"),
        *((name, service.url, "") for name, service in premises.services.items()),
    ]
    lines = [f"  {name:12}{url:25}{what}".rstrip() for name, url, what in places]
    return "\n".join(
        [
            "",
            "The shop is open.",
            "",
            *lines,
            "",
            f"  data and logs are kept in {premises.folder}",
            "  look and act as an operator with",
            f"    export STEPWARD_STORE={premises.store}",
            "    .venv/bin/stepward tasks",
            "",
            "Ctrl-C closes it.",
            "",
        ]
    )
