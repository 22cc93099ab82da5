"""The authorities that may have signed a server's certificate: the system's, unless the address names a file of others.

The driver knows files only, and asks for one where an address says no more than ``sslmode=verify-full``.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from stepward.errors import SettingsError

VERIFIED = "verify-full"
MODES = frozenset({"verify-ca", VERIFIED})
SYSTEM = "system"
"""The name of the system's authorities, as PostgreSQL's own programs have it."""
VARIABLES = {name: f"PG{name.upper()}" for name in ("sslmode", "sslrootcert", "sslcert", "sslkey")}
USERS_OWN = Path("~/.postgresql/root.crt")
"""The file that the driver reads where none is named."""


def check_authorities(dsn: str) -> None:
    """Raises SettingsError where the file that the address or PGSSLROOTCERT names cannot be read."""
    root = _options(dsn).get("sslrootcert", SYSTEM)
    if root != SYSTEM and not (Path(root).is_file() and os.access(root, os.R_OK)):
        raise SettingsError(
            "store address: expected a file of certificates in sslrootcert, found none that can be read at "
            f"{root[:200]}; correct the path, or leave it out for the authorities that the system trusts"
        )


def system_trust(dsn: str) -> ssl.SSLContext | None:
    """The system's authorities where they are asked for; None: the driver does as the address says."""
    options = _options(dsn)
    root = options.get("sslrootcert")
    if options.get("sslmode") not in MODES or root not in (None, SYSTEM):
        return None
    if root is None and USERS_OWN.expanduser().exists():
        return None
    context = ssl.create_default_context()
    context.check_hostname = options["sslmode"] == VERIFIED
    if "sslcert" in options:
        context.load_cert_chain(options["sslcert"], options.get("sslkey"), lambda: options.get("sslpassword", ""))
    return context


def _options(dsn: str) -> Mapping[str, str]:
    """What the address says, and the environment where it says nothing."""
    around = {name: os.environ[variable] for name, variable in VARIABLES.items() if os.environ.get(variable)}
    return around | dict(parse_qsl(urlsplit(dsn).query))
