"""``python -m stepward``: the command line."""

from __future__ import annotations

from stepward.cli.main import main

if __name__ == "__main__":
    main()
