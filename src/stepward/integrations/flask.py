"""Flask: a blocking client for the views of one process."""

from __future__ import annotations

from flask import Flask, Response, current_app

from stepward.app import App
from stepward.errors import Refused, StepwardError
from stepward.http.problem_documents import PROBLEM_JSON, encoded, headers_of, problem_of_error
from stepward.integrations.process_client import ProcessClient
from stepward.sync import SyncClient

__all__ = ["Stepward", "client"]

KEY = "stepward"


class Stepward:
    """The extension; ``Stepward(app, web)``, or ``init_app(web)`` in a factory."""

    def __init__(self, app: App, web: Flask | None = None) -> None:
        self._client = ProcessClient(app)
        if web is not None:
            self.init_app(web)

    def init_app(self, web: Flask) -> None:
        """Make the client known to an application's views; their errors of Stepward's own become problem documents."""
        web.extensions[KEY] = self
        web.register_error_handler(StepwardError, _answer)

    @property
    def client(self) -> SyncClient:
        """The client of this process; opened at the first use, and again in a forked process."""
        return self._client.get()

    def close(self) -> None:
        """Close the client of this process, which otherwise closes when the process ends."""
        self._client.close()


def client() -> SyncClient:
    """The client of the application that serves the present request. Raises Refused where it has none."""
    extension = current_app.extensions.get(KEY)
    if not isinstance(extension, Stepward):
        raise Refused(
            f"stepward client: expected Stepward(app).init_app({current_app.name}), found no such extension; add it"
        )
    return extension.client


def _answer(error: StepwardError) -> Response:
    problem = problem_of_error(error)
    return Response(encoded(problem), problem.status, headers_of(problem), content_type=PROBLEM_JSON)
