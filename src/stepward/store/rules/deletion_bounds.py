"""Bounds on the old tasks and audits that one transaction deletes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from stepward.store.contract import (
    AuditedAct,
    Outlived,
)
from stepward.store.contract.by_subject.retention import BATCH_BYTES, BATCH_ROWS
from stepward.store.rules.audit.audit_chain import PRUNED


def purge_batch(found: Sequence[Any]) -> list[Outlived]:
    """Of old tasks, each with what deleting it costs, the first that one transaction should delete; one at least."""
    weighed = [(Outlived(uid, finished_at), rows, bytes_ or 0) for uid, finished_at, rows, bytes_ in found]
    if len(weighed) > 1 and sum(rows for _, rows, _ in weighed) >= BATCH_ROWS:
        # Not all rows of the last one were looked at.
        weighed.pop()
    chosen, left = list[Outlived](), BATCH_BYTES
    for task, _, bytes_ in weighed:
        left -= bytes_
        if chosen and left < 0:
            break
        chosen.append(task)
    return chosen


def prunable_acts(acts: Sequence[AuditedAct], before: float) -> Sequence[AuditedAct]:
    """The first acts that are older than ``before``; none if they only record pruning."""
    old = list(takewhile(lambda act: act.audit.at < before, acts))
    return old if any(act.audit.act != PRUNED for act in old) else []
