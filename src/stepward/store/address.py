"""Where a state store is: the address that applications and operators write."""

from __future__ import annotations

from stepward.errors import SettingsError

DEFAULT = "sqlite:///stepward.db"
SCHEME = "sqlite://"
FORMS = "sqlite:///file.db (in this folder) or sqlite:////folder/file.db"


def sqlite_path(address: str) -> str:
    """The file that a ``sqlite:///`` address names, or the URI of an in-memory database (``sqlite:///file:/x?vfs=memdb``).

    Raises SettingsError for anything else.
    """
    if not address.startswith(SCHEME):
        scheme = address.partition("://")[0] if "://" in address else "no scheme"
        raise SettingsError(f"store address: expected {FORMS}, found {scheme} in {_shown(address)!r}; write sqlite:///")
    host, slash, path = address.removeprefix(SCHEME).partition("/")
    if host or not slash:
        raise SettingsError(f"store address: expected {FORMS}, found {address!r}; write three slashes before the path")
    if not path or path.endswith("/") or "\0" in path or path == ":memory:":
        raise SettingsError(f"store address: expected {FORMS}, found no file name in {address!r}; name a file")
    return path


def _shown(address: str) -> str:
    """The address without what stands before an ``@``: it may hold a password."""
    scheme, separator, rest = address.partition("://")
    return f"{scheme}{separator}…@{rest.rpartition('@')[2]}" if "@" in rest else address
