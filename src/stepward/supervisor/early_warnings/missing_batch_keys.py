"""Warns while the leading Supervisor lacks the key of a batch, which waits for it."""

from __future__ import annotations

from collections.abc import Iterable

from stepward.model.records import Alert
from stepward.store.contract import Batch
from stepward.supervisor.early_warnings.warning import warning


def missing_keys(batches: Iterable[Batch]) -> list[Alert]:
    """One alert for each batch that waits for a key."""
    return [
        warning(
            "key_missing",
            f"batch {batch.id}: expected the leading Supervisor to have the key that its parameters are encrypted "
            "with, found it missing; give that process the key in STEPWARD_ENCRYPTION, and restart it",
            batch=batch.id,
        )
        for batch in batches
    ]
