"""A folder of what once found bugs: ``seeds.txt`` with seeds, ``programs.jsonl`` with programs and their signals."""

from __future__ import annotations

import json
from pathlib import Path

from simulation.random_programs.program_clients import Experiment
from stepward.model.states import TaskState

SEEDS = "seeds.txt"
PROGRAMS = "programs.jsonl"


class Corpus:
    """Reads the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seeds(self) -> dict[str, int]:
        """Each seed by the name of what it found."""
        found = {}
        for number, line in enumerate((self._folder / SEEDS).read_text().splitlines(), 1):
            if line and not line.startswith("#"):
                seed, _, name = line.partition(" ")
                if not seed.isdecimal() or not name:
                    raise ValueError(f"{SEEDS}:{number}: expected a seed and a name, found {line!r}")
                found[name] = int(seed)
        return found

    def experiments(self) -> list[Experiment]:
        """Each program with the signals that it waits for."""
        lines = map(json.loads, (self._folder / PROGRAMS).read_text().splitlines())
        return [Experiment(line["program"], line["told"], TaskState.UNDONE) for line in lines]
