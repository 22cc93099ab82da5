"""The image of the shop: what it copies is all that its processes import."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.deploy.files import ORDERS, ROOT

COPIED = re.compile(r"^COPY ((?:(?:examples|servers)\S* )+)(\S+)$", re.MULTILINE)
MODULES = [
    "examples.shop.services",
    "examples.shop.services.control",
    "examples.shop.storefront",
    "examples.shop.bookkeeper",
]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder with what the Containerfile copies of the repository, at its places."""
    for sources, place in COPIED.findall((ORDERS / "Containerfile").read_text(encoding="utf-8")):
        for source in sources.split():
            to = tmp_path / place / Path(source).name if place.endswith("/") else tmp_path / place
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, to)
    return tmp_path


async def _ran(image: Path, *arguments: str) -> tuple[int | None, str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        cwd=image,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()


@pytest.mark.parametrize("module", MODULES)
async def test_each_process_of_the_shop_finds_all_that_it_imports(image: Path, module: str) -> None:
    code, said = await _ran(image, "-m", module, "--help")
    assert (code, f"python -m {module}" in said) == (0, True), said


async def test_the_application_is_there(image: Path) -> None:
    assert await _ran(image, "-c", "import examples.orders.app") == (0, "")


async def test_a_file_that_is_not_copied_is_missed(image: Path) -> None:
    (image / "servers" / "ledger.py").unlink()
    code, said = await _ran(image, "-m", "examples.shop.services", "--help")
    assert (code, "ledger" in said) == (1, True)
