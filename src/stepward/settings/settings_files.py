"""Reads the files that hold settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from stepward.errors import SettingsError
from stepward.settings import readers

DEEP_KEY = re.compile(r"""(?:\s*+\.\s*+["']?+[\w-]++["']?+){100}""")
"""Most parts of a dotted key: the time to read one grows with their square."""
FILE_BYTES = 1024 * 1024
"""Most bytes of a settings file."""


def table_of(path: Path) -> dict[str, Any]:
    """The values of a TOML file; empty where there is no file. Raises SettingsError."""
    try:
        text = readers.regular_file(path, FILE_BYTES)
        if DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except RecursionError:
        raise SettingsError(f"{path.name}: expected a TOML file, found: keys or values too deep; repair it") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path.name}: expected a TOML file, found: {str(error)[:200]}; repair it") from None
