"""What became of the orders when the primary of the database died."""

from __future__ import annotations

from showcase.proof.evidence import Evidence, Failover, Finding
from showcase.proof.words import count


def prove_failover(evidence: Evidence) -> list[Finding]:
    """No event that a customer saw is lost, and there is a standby again."""
    if evidence.failover is None:
        return []
    return [_none_lost(evidence.failover, evidence), _standby_has_all(evidence.failover, evidence)]


def _none_lost(failover: Failover, evidence: Evidence) -> Finding:
    kept = failover.acknowledged & set(evidence.states) & set(evidence.tasks)
    wrong = [f"{each}: was acknowledged, and is gone" for each in sorted(failover.acknowledged - kept)]
    if not failover.acknowledged:
        wrong.append("no order was acknowledged when the primary died")
    figures = f"{len(kept)} of {count(len(failover.acknowledged), 'order')}"
    return Finding("No acknowledged order was lost", figures, tuple(wrong))


def _standby_has_all(failover: Failover, evidence: Evidence) -> Finding:
    wrong = [
        f"{each}: is {evidence.states.get(each, 'missing')}, on the standby {failover.standby.get(each, 'missing')}"
        for each in sorted(set(evidence.states) | set(failover.standby))
        if evidence.states.get(each) is not failover.standby.get(each)
    ]
    return Finding("The new standby has them all, too", count(len(failover.standby), "order"), tuple(wrong))
