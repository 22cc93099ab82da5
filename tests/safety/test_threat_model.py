"""docs/threat-model.md: every endpoint and every boundary is on it, and every number stands on docs/security.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from stepward import App

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
BOUNDARIES = {"client", "agent", "broker", "store", "operator", "definition author"}
"""Boundaries that the page must not leave out."""


def listed() -> set[str]:
    table = PAGE.partition("## Endpoints")[2]
    return {path for row in re.findall(r"^\| (`/.*?) \|", table, re.MULTILINE) for path in re.findall(r"`(.*?)`", row)}


def nearest(path: str, prefixes: set[str]) -> str | None:
    """The longest listed path that a route is, or is below."""
    above = [each for each in prefixes if path == each or (each != "/" and path.startswith(f"{each}/"))]
    return max(above, key=len, default=None)


def test_every_endpoint_is_listed_and_nothing_else(tmp_path: Path) -> None:
    hooks = {"payments": {"queue": "orders", "secret": "whsec_" + "A" * 32}}
    asgi: Any = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db", hooks=hooks).asgi()
    found = {path: nearest(path, listed()) for path, _, _ in asgi.routes if path != "/api/v1"}
    assert [path for path, above in found.items() if above is None] == []
    assert listed() - set(found.values()) == set()


def test_every_boundary_has_a_row() -> None:
    rows = set(re.findall(r"^\| ([a-z ]+) \|", PAGE.partition("## Endpoints")[0], re.MULTILINE))
    assert rows >= BOUNDARIES


def test_every_number_is_a_requirement() -> None:
    numbers = {each for found in re.findall(r"\(([\d, ]+)\)", PAGE) for each in found.split(", ")}
    known = set(re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "security.md").read_text("utf-8"), re.MULTILINE))
    assert numbers and numbers <= known


def test_a_report_of_a_weakness_has_a_way_to_its_publication() -> None:
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    for word in ("privately", "CVE", "advisory", "days", "Supported versions"):
        assert word in page
