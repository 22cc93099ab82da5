"""Trying mutants: a copy of the tree, one change at a time, and whether the named tests fail because of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from mutants.mutant import Mutant

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", "--no-header")
PASSED, FAILED = 0, 1
ROOT = Path(__file__).parent.parent
ENDING_SECONDS = 20
"""How long tests that were interrupted may take to stop their servers."""
NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "node_modules", "*.egg-info")
LINKED = ("build", ".venv")
"""What tests read there and no mutant changes."""


class TrialVerdict(StrEnum):
    """What became of a mutant; all but ``UNJUDGED`` count, and only ``FOUND`` is good."""

    FOUND = "found"
    LIVED = "lived"
    HUNG = "hung"
    """Its tests did not end: a busy machine and a fault that is found look the same."""
    BROKEN = "broken"
    """No test could begin: it shows nothing."""
    UNJUDGED = "unjudged"
    """Its tests fail without it."""


class Tree:
    """A copy of the source tree, in which mutants are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Last of all this tree: a copy of another one has no such plugin.
        paths = [str(folder / "src"), str(folder), str(ROOT)]
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    @classmethod
    def copied(cls, source: Path, folder: Path) -> Tree:
        """A copy of ``source`` in ``folder``, whose package is the one that its tests import."""
        shutil.copytree(source, folder, ignore=NOT_COPIED)
        for name in LINKED:
            if (source / name).exists():
                (folder / name).symlink_to(source / name)
        return cls(folder)

    def imported_from(self, package: str) -> Path:
        """Where the tests of this copy import ``package`` from."""
        script = f"import {package}; print({package}.__file__)"
        command = [sys.executable, "-c", script]
        told = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=True
        )
        return Path(told.stdout.strip())

    def red(self, tests: Iterable[str], seconds: float) -> tuple[set[str], str]:
        """Which of the tests fail as the tree is, by node id, and what pytest said; raises ValueError if none ran."""
        report = self.folder / "red.txt"
        report.write_text("", encoding="utf-8")
        code, said = self._pytest(["-p", "mutants.red", f"--red={report}", *sorted(set(tests))], seconds)
        if code not in (PASSED, FAILED):
            raise ValueError(f"expected the tests to run without a mutant, found:\n{said}")
        return set(report.read_text(encoding="utf-8").split("\n")) - {""}, said

    def judge(self, mutant: Mutant, seconds: float) -> TrialVerdict:
        """Apply the mutant, run its tests no longer than ``seconds``, and take it back."""
        with self._applied(mutant):
            code, _ = self._pytest(["-x", *mutant.tests], seconds)
        if code is None:
            return TrialVerdict.HUNG
        return {PASSED: TrialVerdict.LIVED, FAILED: TrialVerdict.FOUND}.get(code, TrialVerdict.BROKEN)

    @contextmanager
    def _applied(self, mutant: Mutant) -> Iterator[None]:
        file = self.folder / mutant.file
        sound = file.read_text(encoding="utf-8")
        try:
            self._write(file, sound.replace(mutant.old, mutant.new))
            yield
        finally:
            self._write(file, sound)

    def _write(self, file: Path, text: str) -> None:
        """A compiled file is known by seconds and size: one of the text before may look like one of this."""
        file.write_text(text, encoding="utf-8")
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()

    def _pytest(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Pytest's exit code, None if its time was over, and what it said."""
        process = subprocess.Popen(
            [sys.executable, *PYTEST, *arguments],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, _ended(process)
        except BaseException:
            _ended(process)
            raise
        return process.returncode, said


def is_red(test: str, red: Iterable[str]) -> bool:
    """Whether one of the failing node ids is that test, a case of it, or a test of that file."""
    return any(each == test or each.startswith((f"{test}[", f"{test}::")) for each in red)


def _ended(process: subprocess.Popen[str]) -> str:
    """Let pytest stop the servers that its tests began; what is left after that is killed."""
    process.send_signal(signal.SIGINT)
    said = ""
    with suppress(subprocess.TimeoutExpired):
        said, _ = process.communicate(timeout=ENDING_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return said
