"""The mail Agent for Node: what it needs is installed once, and where it cannot be had the one in Python serves."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.shop import node
from examples.shop.node import NodeMissing, install, serves_mail
from servers.keeper.transports import TransportKind


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are looked for, and what is installed goes beside them."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(node, "FOLDER", tmp_path / "installed")
    return tmp_path


def put(programs: Path, name: str, does: str) -> None:
    (programs / name).write_text(f"#!/bin/sh\n{does}\n")
    (programs / name).chmod(0o755)


def both(programs: Path, npm: str) -> None:
    put(programs, "npm", npm)
    put(programs, "node", "exit 0")


async def said(transport: TransportKind = TransportKind.NATS) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return await serves_mail(transport, lines.append), lines


def test_it_is_installed_once_and_again_when_it_needs_something_else(programs: Path) -> None:
    both(programs, "echo ran >> ran")
    for _ in range(2):
        install()
    assert (node.installed_package() / "ran").read_text() == "ran\n"
    assert (node.FOLDER / "index.mjs").read_bytes() == (node.SOURCE / "index.mjs").read_bytes()
    (node.FOLDER / "installed.json").write_text("{}")
    install()
    assert (node.installed_package() / "ran").read_text() == "ran\nran\n"


async def test_one_that_is_installed_serves(programs: Path) -> None:
    both(programs, "exit 0")
    assert await said() == (True, ["The mail Agent is the one that is written for Node"])


@pytest.mark.parametrize("missing", ["npm", "node"])
async def test_without_its_programs_the_one_in_python_serves(
    programs: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setenv("PATH", str(programs))
    put(programs, "node" if missing == "npm" else "npm", "exit 0")
    expected = f"expected the program {missing}, found none; install Debian’s packages nodejs and npm"
    assert await said() == (False, [f"The mail Agent is the one in Python: {expected}"])


async def test_an_npm_error_is_printed_and_npm_is_run_again_next_time(programs: Path) -> None:
    both(programs, "echo no network >&2; exit 1")
    expected = "expected npm to install what the Agent needs, found: no network"
    assert await said() == (False, [f"The mail Agent is the one in Python: {expected}"])
    assert await said() == await said()


async def test_an_npm_that_hangs_is_given_up(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "INSTALL_SECONDS", 0.1)
    both(programs, "exec sleep 60")
    serves, [line] = await said()
    assert not serves and "expected npm to install what the Agent needs within 0.1 s" in line


async def test_on_continuous_integration_it_must_be_there(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(NodeMissing):
        await said()


@pytest.mark.parametrize("transport", [kind for kind in TransportKind if kind is not TransportKind.NATS])
async def test_it_serves_over_nats_alone(transport: TransportKind) -> None:
    assert await said(transport) == (False, [])
