"""The npm package of Agents in Node: strict types, current types of the wire, its own tests, what is packed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import stepward
from deploy.release.npm_package import packed
from tests.node_agent.package import FOLDER, MODULES, ROOT, SOURCE, built, node, tsc
from tests.programs import npm_file, program

MODULE_NAMES = {path.stem for path in (SOURCE / "src").glob("*.ts")}
PINNED = re.compile(r"\d+\.\d+\.\d+")


def described() -> dict[str, object]:
    found: dict[str, object] = json.loads((SOURCE / "package.json").read_text("utf-8"))
    return found


def test_the_types_of_the_wire_are_those_of_the_description() -> None:
    npm_file(MODULES / "json-schema-to-typescript" / "package.json")
    built()
    made = node("scripts/generate-wire-types.mjs", str(ROOT / "docs" / "asyncapi.json"))
    assert made == (SOURCE / "src" / "wire.ts").read_text("utf-8"), (
        "run npm run generate in agents/node, and keep its output as src/wire.ts"
    )


def test_its_own_tests_pass_and_its_types_are_strict() -> None:
    folder = built()
    assert json.loads((SOURCE / "tsconfig.json").read_text("utf-8"))["compilerOptions"]["strict"] is True
    files = sorted(str(path) for path in (folder / "build" / "test").glob("*.test.js"))
    assert re.search(r"^# fail 0$", node("--test", *files), re.MULTILINE)


@pytest.mark.faults
def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    built()
    wrong = FOLDER / "test" / "wrong.ts"
    wrong.write_text('import { Agent } from "../src/index.js";\nnew Agent({ app: "orders", nam: "mail" });\n', "utf-8")
    try:
        with pytest.raises(AssertionError, match="'nam' does not exist"):
            tsc("--noEmit")
    finally:
        wrong.unlink()


@pytest.mark.parametrize("repository", ["", "https://example.com/stepward/"])
def test_the_package_holds_what_it_needs_and_nothing_else(tmp_path: Path, repository: str) -> None:
    program("npm", "npm")
    package = packed(built(), tmp_path, repository)
    assert package.name == f"stepward-agent-{stepward.__version__}.tgz"
    with tarfile.open(package) as archive:
        paths = {member.name.removeprefix("package/") for member in archive.getmembers()}
        file = archive.extractfile("package/package.json")
        assert file is not None
        found = json.load(file)
    compiled = {f"dist/{name}{ending}" for name in MODULE_NAMES for ending in (".js", ".d.ts")}
    assert paths == {"package.json", "README.md", "LICENSE", *compiled}
    exported = found["exports"]["."]
    assert {exported["types"].removeprefix("./"), exported["default"].removeprefix("./")} <= paths
    address = {"type": "git", "url": "git+https://example.com/stepward.git", "directory": "agents/node"}
    assert found == described() | ({"repository": address} if repository else {})


def test_an_address_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"expected an https:// address, found 'git@example\.com'"):
        packed(SOURCE, tmp_path, "git@example.com")


@pytest.mark.faults
def test_the_command_compiles_and_packs() -> None:
    built()
    done = subprocess.run(
        [sys.executable, "-m", "deploy.release.npm_package"], cwd=ROOT, capture_output=True, check=True
    )
    assert Path(done.stdout.decode().strip()).is_file()


def test_its_version_and_license_are_those_of_stepward() -> None:
    package, lock = described(), json.loads((SOURCE / "package-lock.json").read_text("utf-8"))
    assert package["version"] == lock["version"] == lock["packages"][""]["version"] == stepward.__version__
    assert (SOURCE / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")


def test_every_package_is_pinned_by_version_and_hash_and_names_no_host() -> None:
    package, text = described(), (SOURCE / "package-lock.json").read_text("utf-8")
    for kind in ("dependencies", "devDependencies"):
        versions = package[kind]
        assert isinstance(versions, dict)
        assert all(PINNED.fullmatch(version) for version in versions.values())
    locked = [entry for name, entry in json.loads(text)["packages"].items() if name]
    assert all(entry.keys() >= {"version", "integrity"} and "resolved" not in entry for entry in locked)
    assert "://" not in re.sub(r'"(url|funding)": .*', "", text)
