"""The site of the documentation: every page is in its navigation, and every name of the reference exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = (ROOT / "mkdocs.yml").read_text("utf-8")


def test_every_page_is_in_the_navigation() -> None:
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if path.parent.name != "decisions"}
    assert set(re.findall(r"(?:- |: )([\w/-]+\.md)$", SITE, re.MULTILINE)) == pages


def test_every_name_in_the_reference_exists() -> None:
    import stepward
    import stepward.errors
    import stepward.testing

    names = {
        name
        for path in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: (\S+)$", path.read_text(), re.MULTILINE)
    }
    assert len(names) > 30
    for name in names - {"stepward.errors", "stepward.settings.Settings"}:
        module = stepward.testing if name.startswith("stepward.testing.") else stepward
        assert name.rpartition(".")[2] in module.__all__, name
