"""The workflows that test and publish: what they may, what they run, and what a tag needs to be published."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.release.tag import RECORDED, missing
from tests.deploy.files import ROOT

WORKFLOWS = {path.stem: path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CHECKOUT = "11d5960a326750d5838078e36cf38b85af677262"
BY_BRANCH = "pypa/gh-action-pypi-publish@release/v1"
"""The one action that is named by a branch: no commit of it is known that publishes metadata of today."""
NPM_JOB = "  publish-npm:\n    needs: attest\n    runs-on: ubuntu-24.04\n    timeout-minutes: 10\n"
WRONG = {
    "rights for all": ("permissions:\n  contents: read\n", "permissions: write-all\n", "rights to read alone"),
    "a secret": ("packages-dir: packages/", 'packages-dir: packages/, password: "${{ secrets.TOKEN }}"', "no secret"),
    "nobody asked": ("    environment: release\n", "", "the environment release"),
    "a title in a shell": (
        '"$GITHUB_REF_NAME"',
        '"${{ github.event.head_commit.message }}"',
        "no expression in a shell",
    ),
    "a moving action": (f"actions/checkout@{CHECKOUT}", "actions/checkout@v4", "a commit of the action"),
    "a package without provenance": ("npm publish --provenance", "npm publish", "the provenance of the package"),
    "nobody asked for npm": (
        f"{NPM_JOB}    environment: release\n",
        NPM_JOB,
        "the environment release",
    ),
    "an unknown target": ("make audit release", "make audit ship", "a target of make"),
    "no end": ("    timeout-minutes: 90\n", "", "a time limit"),
    "a credential on disk": ("with: {persist-credentials: false}", "with: {fetch-depth: 0}", "no credential on disk"),
}


def complaints(text: str) -> list[str]:
    """The errors of a workflow, one line each."""
    workflow = yaml.safe_load(text)
    found = [] if workflow.get("permissions") == {"contents": "read"} else ["expected rights to read alone for all"]
    found += ["expected no secret"] if "secrets." in text else []
    for name, job in workflow["jobs"].items():
        found += [f"{name}: expected {line}" for line in _of_job(job)]
    return found


def _of_job(job: dict[str, Any]) -> list[str]:
    found = [] if "timeout-minutes" in job else ["a time limit"]
    for step in job["steps"]:
        action, command = step.get("uses", ""), step.get("run", "")
        if action not in ("", BY_BRANCH) and not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action):
            found.append(f"a commit of the action, found {action}")
        if action.startswith("actions/checkout") and step.get("with", {}).get("persist-credentials") is not False:
            found.append("no credential on disk")
        is_publishing = action.startswith("pypa/") or command.startswith("npm publish")
        if is_publishing and job.get("environment") != "release":
            found.append("the environment release around what publishes")
        if command.startswith("npm publish") and "--provenance" not in command:
            found.append("the provenance of the package")
        if "${{" in command:
            found.append("no expression in a shell")
        targets = command.split()[1:] if command.startswith("make ") else []
        found += [
            f"a target of make, found {each}"
            for each in targets
            if not re.search(rf"^{re.escape(each)}:", MAKEFILE, re.MULTILINE)
        ]
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_our_rules_find_nothing(name: str) -> None:
    assert complaints(WORKFLOWS[name]) == []


@pytest.mark.parametrize(("old", "new", "words"), WRONG.values(), ids=WRONG)
def test_our_rules_find(old: str, new: str, words: str) -> None:
    assert old in WORKFLOWS["release"]
    found = complaints(WORKFLOWS["release"].replace(old, new))
    assert any(words in line for line in found), found


def test_only_what_attests_and_publishes_has_an_identity() -> None:
    jobs = yaml.safe_load(WORKFLOWS["release"])["jobs"]
    assert {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})} == {
        "attest",
        "publish",
        "publish-npm",
    }
    assert [jobs[name]["needs"] for name in ("attest", "publish", "publish-npm")] == ["build", "attest", "attest"]


def test_each_commit_of_an_action_is_named_with_its_version() -> None:
    for text in WORKFLOWS.values():
        lines = [line for line in text.splitlines() if re.search(r"@[0-9a-f]{40}", line)]
        assert lines
        assert all(re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line) for line in lines)


def test_every_supported_python_is_tested() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    supported = set(re.findall(r"Python :: (3\.\d+)\"", project))
    jobs = yaml.safe_load(WORKFLOWS["test"])["jobs"]
    oldest = jobs["everything"]["steps"][1]["with"]["python-version"]
    assert {oldest, *jobs["other-pythons"]["strategy"]["matrix"]["python"]} == supported
    assert f'requires-python = ">={oldest}"' in project


def test_a_tag_needs_its_version_a_heading_and_recorded_stores(tmp_path: Path) -> None:
    lacking = missing("v1.3.0", "1.2.0", "## [Unreleased]\n", tmp_path)
    assert [line.partition(":")[0] for line in lacking] == ["tag", "CHANGELOG.md", tmp_path.name, tmp_path.name]
    for engine in ("sqlite", "postgresql"):
        (tmp_path / f"1.2.0.{engine}.sql").touch()
    assert missing("v1.2.0", "1.2.0", "## [1.2.0] - 2026-12-01\n", tmp_path) == []


def test_every_release_in_the_changelog_has_its_recorded_stores() -> None:
    released = re.findall(r"^## \[(\d[\w.]*)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    files = {path.name for path in RECORDED.glob("*.sql")}
    assert {f"{version}.{engine}.sql" for version in released for engine in ("sqlite", "postgresql")} <= files
