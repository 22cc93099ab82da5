"""CPU seconds are read where the kernel counts them."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from benchmarks.cpu import family_seconds, own_seconds

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_a_process_is_charged_with_its_own() -> None:
    assert own_seconds(os.getpid()) == pytest.approx(time.process_time(), abs=0.1)


def test_a_family_is_charged_with_children_that_live_and_that_ended() -> None:
    before, own = family_seconds(os.getpid()), own_seconds(os.getpid())
    subprocess.run([sys.executable, "-c", BURN], check=True)
    with subprocess.Popen(
        [sys.executable, "-c", f"{BURN}print(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as living:
        assert living.stdout is not None
        living.stdout.readline()
        used = family_seconds(os.getpid()) - before - (own_seconds(os.getpid()) - own)
    assert 0.5 < used < 1.5


def test_one_that_is_gone_has_used_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    assert own_seconds(ended.pid) == 0
