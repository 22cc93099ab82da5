"""The dependencies that a route or a page may declare as parameters: ``client`` and ``principal``."""

from __future__ import annotations

from litestar.di import NamedDependency

from stepward.http.access.principals import Principal
from stepward.http.access.scopes.scoped_client import ScopedClient

RequestClient = NamedDependency[ScopedClient]
"""The client that acts in the principal's name; the parameter is called ``client``."""
RequestPrincipal = NamedDependency[Principal]
"""The principal of the request; the parameter is called ``principal``."""
