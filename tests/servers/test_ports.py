"""A port that one process was given is not given to another, even before a server listens there, and is given back."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from servers.ports import free_port

ROOT = Path(__file__).parents[2]
COUNT = 20
SAME_LUCK = f"""
import random
from servers.ports import free_port
random.seed(7)
print(*[free_port() for _ in range({COUNT})], flush=True)
input()
"""


def test_no_port_is_given_to_two_processes() -> None:
    command = [sys.executable, "-c", SAME_LUCK]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = {int(port) for port in other.stdout.readline().split()}
        chance = random.getstate()
        random.seed(7)
        ours = {free_port() for _ in range(COUNT)}
        random.setstate(chance)
        other.communicate("\n")
    assert len(theirs) == len(ours) == COUNT
    assert not theirs & ours


def test_a_reserved_port_is_released_as_the_process_ends() -> None:
    keep = "from servers.ports import free_port; free_port()"
    command = [sys.executable, "-X", "dev", "-c", keep]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
