"""The npm package of Agents in Node: strict types, current types of the wire, its own tests, what is packed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import stepward
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


def test_the_package_holds_what_it_needs_and_nothing_else() -> None:
    built()
    packed = node(str(Path(program("npm", "npm")).resolve()), "pack", "--dry-run", "--json", "--ignore-scripts")
    (found,) = json.loads(packed)
    paths = {each["path"] for each in found["files"]}
    compiled = {f"dist/{name}{ending}" for name in MODULE_NAMES for ending in (".js", ".d.ts")}
    assert paths == {"package.json", "README.md", "LICENSE", *compiled}
    exported = json.loads((SOURCE / "package.json").read_text("utf-8"))["exports"]["."]
    assert {exported["types"].removeprefix("./"), exported["default"].removeprefix("./")} <= paths


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
