"""The results of a run: what the file holds, and medians, spreads and ratios of its rounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

RESULTS = Path("docs/benchmarks/comparison.json")
"""The run that the pages show."""

Rounds = list[float]


class Spread(NamedTuple):
    """The median of some rounds, and their least and largest figure."""

    median: float
    least: float
    most: float


@dataclass
class Results:
    """One run; plain values, so that the file can be read without this program."""

    date: str = ""
    note: str = ""
    """Conditions of the run, such as another load on the machine; empty on a quiet one."""
    machine: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    products: dict[str, dict[str, str]] = field(default_factory=dict)
    """By key, each product's ``title``, ``beside``, ``versions``, ``durability`` and ``remark``."""
    rounds: dict[str, dict[str, Rounds]] = field(default_factory=dict)
    """By product and figure, the figures of the rounds."""
    missing: dict[str, str] = field(default_factory=dict)
    """By product, or by product and part, why it has no figures or fewer."""
    sweeps: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    """By sweep and series, figures of Stepward by the size that was varied."""
    seconds: float = 0.0

    def add(self, product: str, figures: Mapping[str, float]) -> None:
        """Add the figures of one round."""
        for name, value in figures.items():
            self.rounds.setdefault(product, {}).setdefault(name, []).append(value)

    def spread(self, product: str, figure: str) -> Spread | None:
        """The spread of a figure; None where the product has none."""
        return _spread(self.rounds.get(product, {}).get(figure, []))

    def ratio(self, product: str, base: str, figure: str) -> Spread | None:
        """How many times the base's figure the product's is, round by round; None where one of them has none.

        Rounds that only one of the two has are left out.
        """
        these = self.rounds.get(product, {}).get(figure, [])
        those = self.rounds.get(base, {}).get(figure, [])
        return _spread([this / that for this, that in zip(these, those, strict=False) if that])


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values)) if values else None


def read(path: Path = RESULTS) -> Results:
    """The results in a file."""
    return Results(**json.loads(path.read_text("utf-8")))


def digest(path: Path = RESULTS) -> str:
    """What distinguishes the file of one run from that of another."""
    return sha256(path.read_bytes()).hexdigest()[:16]


def write(results: Results, path: Path) -> None:
    """Write the file, with figures of four digits, which is more than a machine repeats."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(asdict(results)), indent=1) + "\n", "utf-8")


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list():
            return [_rounded(each) for each in value]
        case _:
            return value
