"""How an AMQP 1.0 connection, session or link ends, and what its peer said."""

from __future__ import annotations

from proton import Condition

REFUSING = frozenset(
    {
        "amqp:not-found",
        "amqp:unauthorized-access",
        "amqp:not-allowed",
        "amqp:not-implemented",
        "amqp:precondition-failed",
        "amqp:resource-limit-exceeded",
        "amqp:resource-locked",
        "amqp:invalid-field",
        "amqp:link:message-size-exceeded",
        "com.microsoft:session-cannot-be-locked",
        "com.microsoft:entity-disabled",
    }
)
"""Conditions of a peer that will say the same again, until an operator changes something there."""


class AmqpFault(Exception):
    """The connection or link has ended, or its peer did not answer."""


class AmqpRefused(AmqpFault):
    """The peer refuses; ``condition`` is the protocol's symbol for why."""

    def __init__(self, condition: str, description: str) -> None:
        super().__init__(f"{description or 'no reason given'} ({condition})")
        self.condition = condition


class LoginRefused(AmqpFault):
    """The peer does not accept the login."""


def fault(condition: Condition | None, otherwise: str) -> AmqpFault:
    """The exception for a peer's error condition."""
    if condition is None:
        return AmqpFault(otherwise)
    name, described = str(condition.name), " ".join(str(condition.description or "").split())
    if name in REFUSING:
        return AmqpRefused(name, described[:300])
    return AmqpFault(f"{described[:300] or otherwise} ({name})")
