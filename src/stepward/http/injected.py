"""What a route or a page may ask for by the names of its parameters: ``client`` and ``principal``."""

from __future__ import annotations

from litestar.di import NamedDependency

from stepward.http.access.principals import Principal
from stepward.http.access.scoped_client import ScopedClient

RequestClient = NamedDependency[ScopedClient]
"""The client in the name of whoever asks; the parameter is called ``client``."""
RequestPrincipal = NamedDependency[Principal]
"""Who asks; the parameter is called ``principal``."""
