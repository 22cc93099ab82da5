"""The supply chain: few dependencies, each pinned by its hash; packages that anyone can build again."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import stepward
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
    assert tops == {"stepward", f"stepward-{stepward.__version__}.dist-info"}


@pytest.mark.faults
def test_twine_accepts_the_packages_and_finds_one_without_a_description(tmp_path: Path) -> None:
    made = built(tmp_path / "dist")
    assert twine(*made) == (0, len(made))
    source = made[-1]
    broken = tmp_path / source.name
    with tarfile.open(source) as packed, tarfile.open(broken, "w:gz") as worse:
        for member in packed:
            data = packed.extractfile(member)
            text = b"" if data is None else data.read()
            if member.name.endswith("/PKG-INFO"):
                text = text.partition(b"\n\n")[0] + b"\n\n"
                member.size = len(text)
            worse.addfile(member, io.BytesIO(text))
    assert twine(broken)[0] == 1


def twine(*packages: Path) -> tuple[int, int]:
    """The exit code of `twine check`, and how many packages passed."""
    tool = program(str(ROOT / "build/deploy/bin/twine"), "it by tests/install-programs")
    command = [tool, "check", "--strict", *map(str, packages)]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    return found.returncode, found.stdout.count("PASSED")


@pytest.mark.faults
def test_the_addresses_in_a_package_are_those_of_the_repository_that_publishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def addresses(folder: str) -> list[str]:
        (wheel,) = [path for path in built(tmp_path / folder) if path.suffix == ".whl"]
        with zipfile.ZipFile(wheel) as packed:
            (name,) = [each for each in packed.namelist() if each.endswith("/METADATA")]
            return re.findall(r"^Project-URL: (.*)$", packed.read(name).decode(), re.MULTILINE)

    assert addresses("checkout") == []
    monkeypatch.setenv("STEPWARD_REPOSITORY", "https://git.example/stepward")
    assert "Changelog, https://git.example/stepward/blob/v0.1.0/CHANGELOG.md" in addresses("published")
