"""The reason of an act, which every act accepts in its query and the audit keeps."""

from __future__ import annotations

from typing import Annotated

from litestar.params import QueryParameter

Reason = Annotated[str | None, QueryParameter(min_length=1, max_length=200, description="Why, for the audit.")]
