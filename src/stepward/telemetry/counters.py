"""Counters and histograms in plain Python: cheap to update, and converted to Prometheus' metric families at a
scrape."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric

MOST_SERIES = 500
"""Most combinations of labels of one metric; beyond that all count as ``other``."""
OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
"""Upper bounds of the buckets of durations, in seconds."""
ROWS = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 5000.0)
"""Upper bounds of the buckets of row counts."""

Labels = tuple[str, ...]


class Counter:
    """A count by labels."""

    def __init__(self, name: str, says: str, labels: Sequence[str] = ()) -> None:
        self._name, self._says, self._labels = name, says, tuple(labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, labels: Labels, amount: float = 1.0) -> None:
        """Adds ``amount`` to the count of these labels."""
        values = self._values
        if labels in values:
            values[labels] += amount
        else:
            key = _bounded(labels, len(values))
            values[key] = values.get(key, 0.0) + amount

    def family(self) -> Metric:
        """The metric family with the present values."""
        family = CounterMetricFamily(self._name, self._says, labels=self._labels)
        for labels, value in sorted(self._values.items()):
            family.add_metric(labels, value)
        return family


class Histogram:
    """A distribution by labels."""

    def __init__(self, name: str, says: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS) -> None:
        self._name, self._says, self._labels = name, says, tuple(labels)
        self._bounds = tuple(bounds)
        self._series: dict[Labels, Distribution] = {}

    def observe(self, labels: Labels, value: float) -> None:
        """Adds one value to the distribution of these labels."""
        series = self._series.get(labels)
        if series is None:
            key = _bounded(labels, len(self._series))
            series = self._series.setdefault(key, Distribution(len(self._bounds) + 1))
        series.counts[bisect_left(self._bounds, value)] += 1
        series.total += value

    def family(self) -> Metric:
        """The metric family with the present values."""
        family = HistogramMetricFamily(self._name, self._says, labels=self._labels)
        for labels, series in sorted(self._series.items()):
            family.add_metric(labels, list(self._buckets(series)), series.total)
        return family

    def _buckets(self, series: Distribution) -> Iterator[tuple[str, float]]:
        count = 0
        for bound, here in zip((*self._bounds, float("inf")), series.counts, strict=True):
            count += here
            yield "+Inf" if bound == float("inf") else str(bound), count


class Distribution:
    """The counts of one series by bucket, the last one without an upper bound, and the sum of its values."""

    __slots__ = ("counts", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.total = 0.0


def _bounded(labels: Labels, known: int) -> Labels:
    return labels if known < MOST_SERIES else (OTHER,) * len(labels)
