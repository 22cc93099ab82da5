"""The OpenAPI document, which Litestar generates from the routes' types; problem documents are added here."""

from __future__ import annotations

from litestar import Litestar, Router
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, OpenAPIType, Operation, Reference, Schema
from litestar.routes import BaseRoute
from litestar.types import ControllerRouterHandler

from stepward.http.access.permissions import Permission
from stepward.http.api.tasks.task_paths import API
from stepward.http.problem_documents import PROBLEM_JSON

DOCUMENT = "/openapi.json"
TEXT = Schema(type=OpenAPIType.STRING)
FIELD = Schema(
    type=OpenAPIType.OBJECT,
    required=["field", "message"],
    properties={"field": TEXT, "message": TEXT},
)
PROBLEM = Schema(
    type=OpenAPIType.OBJECT,
    title="Problem",
    description="A problem document as RFC 9457 has it.",
    required=["title", "status", "detail"],
    properties={
        "type": TEXT,
        "title": TEXT,
        "status": Schema(type=OpenAPIType.INTEGER),
        "detail": TEXT,
        "errors": Schema(type=OpenAPIType.ARRAY, items=FIELD),
    },
)
METHODS = ("get", "post", "delete")


class DocumentRouter(Router):
    """Registers the route of the document, and none of Litestar's documentation pages."""

    def register(self, value: ControllerRouterHandler) -> list[BaseRoute]:
        """Registers the route if it is the document's."""
        is_document = isinstance(value, HTTPRouteHandler) and DOCUMENT in value.paths
        return super().register(value) if is_document else []


def openapi() -> OpenAPIConfig:
    """The settings of the document and its path."""
    router = DocumentRouter(API, route_handlers=[], opt={"permission": Permission.SIGNED_IN}, include_in_schema=False)
    return OpenAPIConfig(
        title="Stepward",
        version="1",
        description="Durable tasks: submit them, look at them, act on them.",
        openapi_router=router,
        use_handler_docstrings=True,
        operation_id_creator=lambda handler, *_: handler.handler_name,
        render_plugins=[JsonRenderPlugin(path=DOCUMENT)],
    )


def describe_problems(app: Litestar) -> None:
    """Adds to every route that errors are answered with a problem document."""
    document = app.openapi_schema
    document.components.schemas["Problem"] = PROBLEM
    problem = OpenAPIResponse(
        description="What was expected, what was found, what to do.",
        content={PROBLEM_JSON: OpenAPIMediaType(schema=Reference(ref="#/components/schemas/Problem"))},
    )
    for path in (document.paths or {}).values():
        for method in METHODS:
            operation: Operation | None = getattr(path, method)
            if operation is not None:
                responses = {
                    status: response for status, response in (operation.responses or {}).items() if status != "400"
                }
                operation.responses = {**responses, "default": problem}
