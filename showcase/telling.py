"""What the demo prints: a line for each thing that happens, and the findings; never wider than 80 columns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from showcase.proof import Finding

WIDTH = 80
CLAIM_WIDTH = 39
FIGURES_WIDTH = WIDTH - CLAIM_WIDTH - 4


class Teller:
    """Tells what happens, with the seconds since the start; `loop.time` is the clock."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._loop.time() - self._started_at

    def tell(self, line: str, style: str = "") -> None:
        """One thing that happened; a long line goes on under its own beginning."""
        for number, part in enumerate(self._lines(line, WIDTH - 8)):
            time = f"{self.elapsed:5.1f}s" if number == 0 else " " * 6
            self._print(f"[dim]{time}[/]  [{style or 'default'}]{part}[/]")

    def title(self, line: str) -> None:
        """A heading."""
        self.console.print(f"\n[bold]{escape(line)}[/]")

    def findings(self, findings: Sequence[Finding]) -> None:
        """Each finding with a tick or a cross, and beneath a cross what speaks against it."""
        for finding in findings:
            self._finding(finding)
            for wrong in finding.wrong:
                for line in self._lines(wrong, WIDTH - 5):
                    self._print(f"     [red]{line}[/]")

    def legend(self, lines: Sequence[str]) -> None:
        """How to read what was shown."""
        for line in lines:
            self._print(f"[dim]{escape(line)}[/]")

    def _finding(self, finding: Finding) -> None:
        mark = "[green]✔[/]" if finding.holds else "[bold red]✘[/]"
        first, *more = self._lines(finding.figures, FIGURES_WIDTH) or [""]
        self._print(f" {mark} {escape(finding.claim):{CLAIM_WIDTH}} [dim]{first}[/]")
        for line in more:
            self._print(f"{'':{CLAIM_WIDTH + 4}}[dim]{line}[/]")

    def _lines(self, text: str, width: int) -> list[str]:
        return [escape(line.plain.rstrip()) for line in Text(text).wrap(self.console, width)]

    def _print(self, markup: str) -> None:
        self.console.print(markup, soft_wrap=True)
