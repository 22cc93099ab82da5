"""The README's first page, word for word, on the wheel in an environment with what the wheel requires and no more."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deploy.release.__main__ import built

pytestmark = [pytest.mark.servers, pytest.mark.by_interpreters]

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
PAGE = README.partition("## A first saga\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXTRA = "console"
"""What the page installs beside the plain package."""
MOST_SECONDS = 120
VARYING = re.compile(r"\d+(\.\d+)?(ms|s)\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|[─╭╮╰╯]+| +")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment in which the wheel is installed, with copies of the packages that it requires."""
    folder = tmp_path_factory.mktemp("empty") / ".venv"
    venv.create(folder, symlinks=True)
    (place,) = folder.glob("lib/python*/site-packages")
    (wheel,) = [path for path in built(tmp_path_factory.mktemp("dist")) if path.suffix == ".whl"]
    shutil.unpack_archive(wheel, place, "zip")
    (folder / "bin" / "stepward").write_text(
        f"#!{folder}/bin/python\nfrom stepward.cli.main import main\nmain()\n", encoding="utf-8"
    )
    (folder / "bin" / "stepward").chmod(0o755)
    (metadata,) = place.glob("stepward-*.dist-info/METADATA")
    asked = re.findall(r"^Requires-Dist: (.*)$", metadata.read_text("utf-8"), re.MULTILINE)
    for name in closure(asked, EXTRA):
        copy(name, place)
    return folder


def closure(asked: list[str], extra: str = "") -> set[str]:
    """The packages that these requirements need, and those that they need."""
    found: set[str] = set()
    waiting = [(Requirement(text), extra) for text in asked]
    while waiting:
        wanted, within = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": within}):
            continue
        for part in wanted.extras or {""}:
            key = f"{wanted.name.lower()}[{part}]"
            if key not in found:
                found.add(key)
                waiting += [(Requirement(text), part) for text in distribution(wanted.name).requires or []]
    return {key.partition("[")[0] for key in found}


def copy(name: str, place: Path) -> None:
    """Copies an installed package."""
    for file in distribution(name).files or []:
        target = (place / file).resolve()
        if target.is_relative_to(place.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


def plain(line: str) -> str:
    """A printed line without what differs each time."""
    return VARYING.sub(" ", line).strip()


def test_the_first_page_is_what_happens(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(next(text for kind, text in BLOCKS if kind == "python"), encoding="utf-8")
    shown = [text for kind, text in BLOCKS if kind == "console"][-1].splitlines()
    typed = [line.removeprefix("$ ") for line in shown if line.startswith("$ ")]
    assert typed[0] == "stepward run shop.py:app &"
    script = ["stepward run shop.py:app > run.log 2>&1 &", "until grep -q Ready run.log; do sleep 0.2; done"]
    script += [*typed[1:], "kill $!", "wait"]
    ran = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env={"PATH": f"{environment}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    printed = [plain(line) for line in ran.stdout.splitlines()]
    log = (tmp_path / "run.log").read_text("utf-8")
    for line in (line for line in shown if not line.startswith("$ ")):
        assert plain(line) in printed, f"{ran.stdout}\n{log}"
    assert "Ended in good order." in log


def test_the_page_installs_what_is_installed_here() -> None:
    (setup,) = [text for kind, text in BLOCKS if kind == "console"][:1]
    assert f"pip install '.[{EXTRA}]'" in setup


def test_an_environment_without_what_the_wheel_requires_is_noticed(environment: Path, tmp_path: Path) -> None:
    lacking = shutil.copytree(environment, tmp_path / "lacking", symlinks=True)
    (place,) = lacking.glob("lib/python*/site-packages")
    shutil.rmtree(place / "msgspec")
    ran = subprocess.run([lacking / "bin/python", "-c", "import stepward"], capture_output=True, text=True, check=False)
    assert "No module named 'msgspec'" in ran.stderr
