"""The addresses in the package's metadata, which a build is given: a checkout does not know where it is kept."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "STEPWARD_REPOSITORY"
"""The variable with the https address of the repository from which a release is published."""
PAGES = {"Documentation": "docs/README.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}


class Addresses(MetadataHookInterface):
    """Fills ``urls``; there are none without the variable."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the addresses of the repository and of its pages. Raises ValueError for one that is not https."""
        repository = os.environ.get(REPOSITORY, "").rstrip("/")
        if not repository:
            return
        if not repository.startswith("https://"):
            raise ValueError(f"{REPOSITORY}: expected an https:// address, found {repository[:100]!r}; correct it")
        pages = {name: f"{repository}/blob/v{metadata['version']}/{path}" for name, path in PAGES.items()}
        metadata["urls"] = {"Source": repository, "Issues": f"{repository}/issues", **pages}
