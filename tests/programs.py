"""Programs beside Python's packages that tests drive for real."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def program(name: str, package: str) -> str:
    """Where the program is; without it a test is skipped and says so, on continuous integration it fails."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        missing = f"expected the program {name}, found none: install {package}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found
