"""What the demo prints: a line for each thing that happens, and the findings; never wider than 80 columns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from examples.orders.proof import Finding

WIDTH = 80
CLAIM_WIDTH = 45


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
        for number, part in enumerate(Text(line).wrap(self.console, WIDTH - 8)):
            time = f"{self.elapsed:5.1f}s" if number == 0 else " " * 6
            self.console.print(
                f"[dim]{time}[/]  [{style or 'default'}]{escape(part.plain.rstrip())}[/]", soft_wrap=True
            )

    def title(self, line: str) -> None:
        """A heading."""
        self.console.print(f"\n[bold]{escape(line)}[/]")

    def findings(self, findings: Sequence[Finding]) -> None:
        """Each finding with a tick or a cross, and beneath a cross what speaks against it."""
        for finding in findings:
            mark = "[green]✔[/]" if finding.holds else "[bold red]✘[/]"
            claim = f"{finding.claim:{CLAIM_WIDTH}}"
            self.console.print(f" {mark} {escape(claim)} [dim]{escape(finding.figures)}[/]", soft_wrap=True)
            for wrong in finding.wrong:
                for part in Text(wrong).wrap(self.console, WIDTH - 6):
                    self.console.print(f"     [red]{escape(part.plain.rstrip())}[/]", soft_wrap=True)
