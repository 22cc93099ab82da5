"""The catalogue: what a mutant is, and how a file of them is read."""

from __future__ import annotations

from pathlib import Path

import msgspec

CATALOGUE = Path(__file__).parent / "catalogue"


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One wrong change, and the tests that must find it; the package's docstring explains each field."""

    id: str
    file: str
    old: str
    new: str
    wrong: str
    tests: list[str]
    area: str = ""

    @property
    def name(self) -> str:
        """What names it among all mutants."""
        return f"{self.area}/{self.id}"


class _Entries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mutant: list[Mutant]


def read(folder: Path = CATALOGUE) -> list[Mutant]:
    """Every mutant, by area; raises ValueError where a file is not a catalogue."""
    found = list[Mutant]()
    for path in sorted(folder.glob("*.toml")):
        try:
            entries = msgspec.toml.decode(path.read_bytes(), type=_Entries)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path.name}: expected a list of [[mutant]], found {error}") from error
        found += [msgspec.structs.replace(mutant, area=path.stem) for mutant in entries.mutant]
    return found


def misfit(mutant: Mutant, tree: Path) -> str | None:
    """Why the mutant cannot be applied to the tree, if it cannot."""
    file = tree / mutant.file
    if not file.is_file():
        return f"{mutant.name}: expected the file {mutant.file}, found none; name the one that has this code now"
    count = file.read_text(encoding="utf-8").count(mutant.old)
    if count != 1:
        return f"{mutant.name}: expected its old text once in {mutant.file}, found it {count} times; correct the mutant"
    if mutant.old == mutant.new:
        return f"{mutant.name}: expected another text, found the old one; say what the mutant changes"
    return None
