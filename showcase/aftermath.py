"""The rest of a run: a copy of its state store, to be looked at in the console."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

ROOT = Path(__file__).parents[1]
KEPT = Path("build/demo/orders.db")


def keep(folder: Path) -> str | None:
    """Copy the store of a run that has ended, in place of the one before; its address, or None without a file."""
    source = folder / "orders.db"
    if not source.exists():
        return None
    target = ROOT / KEPT
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.glob(f"{target.name}*"):
        old.unlink()
    with (
        closing(apsw.Connection(str(source))) as here,
        closing(apsw.Connection(str(target))) as there,
        there.backup("main", here, "main") as copy,
    ):
        copy.step()
    return f"sqlite:///{KEPT}"
