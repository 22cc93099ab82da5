"""The buckets of rates: tokens are taken with the claim, and a bucket in which tasks wait has an instant to look at.

All of this runs under the lock of all permits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stepward.model.limits.flow_limit import FlowLimit
from stepward.model.limits.rate import RateLimit
from stepward.store.verbs.connection import VerbConnection

Bucket = tuple[str, str]
"""The name of a limit and a key: what has the limit for itself."""
LOOK_AGAIN = 1.0
"""Seconds until more tasks of a bucket are let go, where those that were let go have not been claimed."""


class Buckets:
    """Those of some buckets whose limit has a rate, as they are at one instant."""

    def __init__(self, rates: Mapping[Bucket, RateLimit], full_at: dict[Bucket, float], now: float) -> None:
        self._rates = rates
        self._full_at = full_at
        self._now = now

    def tokens(self, bucket: Bucket) -> int:
        """How many tokens a bucket has."""
        return self._rates[bucket].tokens(self._full_at.get(bucket, self._now), self._now)

    def take(self, bucket: Bucket) -> bool:
        """Takes a token; False if there is none. A bucket without a rate always has one."""
        rate = self._rates.get(bucket)
        if rate is None:
            return True
        if not self.tokens(bucket):
            return False
        self._full_at[bucket] = rate.taken(self._full_at.get(bucket, self._now), self._now, 1)
        return True

    async def write(self, connection: VerbConnection, later: float, capped: Collection[Bucket]) -> None:
        """Writes the buckets, each with the instant at which waiting tasks may start: ``later`` where there are tokens.

        None of those in ``capped`` may start before another ends. As many buckets that are full again are deleted.
        """
        if not self._rates:
            return
        names = sorted(self._rates)
        waiting = {(name, key) for name, key in await connection.rows_of_each("permits.waiting", names)} - {*capped}
        values = [(*bucket, self._full_at.get(bucket, self._now), self._due(bucket, later)) for bucket in names]
        dues = [(*each[:3], each[3] if each[:2] in waiting else None) for each in values]
        await connection.change_each("permits.put_bucket", dues)
        await connection.change("permits.forget_full", self._now, 2 * len(names))

    def _due(self, bucket: Bucket, later: float) -> float:
        if self.tokens(bucket):
            return later
        return max(self._now, self._rates[bucket].next_at(self._full_at[bucket]))


async def buckets(connection: VerbConnection, limits: Mapping[Bucket, FlowLimit], now: float) -> Buckets:
    """The buckets of these limits as they are stored; one without a row is full."""
    rates = {bucket: limit.rate for bucket, limit in limits.items() if limit.rate is not None}
    found = await connection.rows_of_each("permits.full_at", sorted(rates))
    # Tokens that were taken under a slower rate, or before the clock was set back, count as one bucket at most.
    full_at = {(name, key): min(full_at, now + rates[name, key].per_seconds) for name, key, full_at in found}
    return Buckets(rates, full_at, now)
