"""docs/wire.md shows messages as they are written: its examples are the golden files, with comments."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.transport.wire.described import Described

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parent / "golden" / "v2"
SHOWN = (
    "request",
    "reply-completed",
    "reply-failed",
    "progress",
    "revocation",
    "capacity",
    "submission",
    "status-events",
)
EXAMPLES = re.findall(r"```jsonc\n(.*?)```", PAGE, re.DOTALL)


def test_each_example_is_checked() -> None:
    assert len(EXAMPLES) == len(SHOWN)


@pytest.mark.parametrize(("name", "example"), [*zip(SHOWN, EXAMPLES, strict=False)], ids=SHOWN)
def test_an_example_is_what_is_written(name: str, example: str) -> None:
    shown = json.loads(re.sub(r"^ *//.*$", "", example, flags=re.MULTILINE))
    assert json.dumps(shown, indent=2) == json.dumps(json.loads((GOLDEN / f"{name}.json").read_bytes()), indent=2)


def test_the_page_names_every_kind_of_event_of_the_wire() -> None:
    kinds = {told.partition(" ")[2] for told in Described("rabbitmq").told if "responses" not in told}
    assert [kind for kind in kinds if kind.startswith("stepward.") and kind not in PAGE] == []


def test_the_agent_in_node_is_as_short_as_it_says() -> None:
    lines = (ROOT / "examples" / "shop" / "node-agent" / "index.mjs").read_text(encoding="utf-8").splitlines()
    assert f"an Agent of {len(lines)} lines" in PAGE
    assert len(lines) < 20
