"""The supply chain: few dependencies, each pinned by its hash; packages that anyone can build again."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deploy.release.__main__ import BILL, CHECKSUMS, NAMESPACE, built, release
from deploy.release.bill_of_materials import pins
from tests.programs import program

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NEEDED = {"apsw", "click", "cronsim", "jsonschema", "msgspec", "rich", "tzdata"}
"""What the plain install needs; each has a reason in docs/decisions/0009-libraries.md."""


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]  # type: ignore[no-any-return]


def test_the_plain_install_needs_these_packages_only() -> None:
    assert {re.split(r"[<>=\[ ]", each)[0] for each in project()["dependencies"]} == NEEDED


@pytest.mark.parametrize("lock", LOCKS, ids=[each.stem for each in LOCKS])
def test_every_package_is_pinned_to_a_version_and_to_the_hashes_of_its_files(lock: Path) -> None:
    text = lock.read_text("utf-8")
    found = pins(text)
    assert found and all(found.values())
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(lines) == len(re.findall(r"^[A-Za-z0-9._\[\],-]+==", text, re.MULTILINE))


def test_environments_are_made_with_hashes_required() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    installs = re.findall(r"install [^\n]*-r requirements/\S+", makefile)
    assert installs and all("--require-hashes" in each for each in installs)
    image = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    assert "--require-hashes" in image


@pytest.mark.faults
def test_a_release_lists_its_dependencies_and_is_signed(tmp_path: Path) -> None:
    program("ssh-keygen", "openssh-client")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    folder = tmp_path / "dist"
    made = {path.name: path for path in release(folder, key)}
    runtime = pins((ROOT / "requirements" / "runtime.txt").read_text("utf-8"))
    bill = json.loads(made[BILL].read_text("utf-8"))
    assert (bill["bomFormat"], len(bill["components"])) == ("CycloneDX", len(runtime))
    assert all(each["hashes"] for each in bill["components"])
    for line in made[CHECKSUMS].read_text("utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256(made[name].read_bytes()).hexdigest() == digest
    signers = tmp_path / "signers"
    signers.write_text(f"release {key.with_suffix('.pub').read_text('utf-8')}", "utf-8")
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "release", "-n", NAMESPACE]
    verify += ["-s", str(made[f"{CHECKSUMS}.sig"])]
    sums = made[CHECKSUMS].read_bytes()
    assert subprocess.run(verify, input=sums, check=False, capture_output=True).returncode == 0
    assert subprocess.run(verify, input=sums[:-2] + b"x\n", check=False, capture_output=True).returncode != 0


@pytest.mark.faults
def test_two_builds_of_the_same_sources_have_the_same_bytes(tmp_path: Path) -> None:
    first, second = ({path.name: path for path in built(tmp_path / name)} for name in ("first", "second"))
    assert {name: path.read_bytes() for name, path in first.items()} == {
        name: path.read_bytes() for name, path in second.items()
    }
    (wheel,) = [path for name, path in first.items() if name.endswith(".whl")]
    with zipfile.ZipFile(wheel) as packed:
        tops = {name.partition("/")[0] for name in packed.namelist()}
    assert tops == {"stepward", f"stepward-{project()['version']}.dist-info"}
