"""``python -m deploy.release.tag TAG``: whether the tree may be published under a tag, because it is that version."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import stepward

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "store" / "migrated"


def main() -> None:
    """Exits with 0, or with 1 and a line for each thing that is missing."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release.tag", description=__doc__)
    parser.add_argument("tag")
    found = missing(parser.parse_args().tag, stepward.__version__, (ROOT / "CHANGELOG.md").read_text("utf-8"), RECORDED)
    if found:
        raise SystemExit("\n".join(found))


def missing(tag: str, version: str, changelog: str, recorded: Path) -> list[str]:
    """What the tree lacks to be published under that tag, a line each."""
    found = []
    if tag != f"v{version}":
        found.append(
            f"tag: expected v{version}, the version in src/stepward/__init__.py, found {tag}; change one of them"
        )
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        found.append(
            f"CHANGELOG.md: expected the heading `## [{version}] - DATE`, found none; move what is unreleased there"
        )
    files = [f"{version}.{engine}.sql" for engine in ("sqlite", "postgresql")]
    found += [
        f"{recorded.name}: expected {name}, found none; run `make record` and commit it"
        for name in files
        if not (recorded / name).exists()
    ]
    return found


if __name__ == "__main__":
    main()
