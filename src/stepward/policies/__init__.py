"""Policies as data: how an Agent retries, when its breaker opens, what the Supervisor does past a failure."""

from stepward.policies.backoff import Backoff, grown
from stepward.policies.circuit_breaker import CircuitBreaker
from stepward.policies.long_wait import LastRung, LongWait, ladder_text
from stepward.policies.retry import Retry
from stepward.policies.supervision import Supervision
from stepward.policies.workflow_limit import Limit

__all__ = [
    "Backoff",
    "CircuitBreaker",
    "LastRung",
    "Limit",
    "LongWait",
    "Retry",
    "Supervision",
    "grown",
    "ladder_text",
]
