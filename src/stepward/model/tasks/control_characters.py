"""The rule for texts from outside: which characters none of them may have."""

from __future__ import annotations

import re

UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which terminals obey, and of which PostgreSQL takes no NUL; halves of characters are no UTF-8."""
