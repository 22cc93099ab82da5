"""Requests to the API, of this process or of a console elsewhere, for the tools of an assistant."""

from __future__ import annotations

import json
from typing import Any

import httpx
from msgspec import Struct

from stepward.errors import Refused, StepwardError, StoreUnavailable
from stepward.mcp_server.tool_schemas import ApiRequest

API = "/api/v1"
LONGEST_ANSWER = 200_000
"""Most characters of an answer: an assistant reads each of them."""
UNAUTHORIZED = 401
FAILED = 400
"""The least status of an answer that is an error."""


class ApiAnswer(Struct, frozen=True):
    """The answer to a request: text for the assistant, and the same as data."""

    text: str
    data: Any = None
    is_error: bool = False


async def answered(client: httpx.AsyncClient, request: ApiRequest) -> ApiAnswer:
    """Sends a request. An error is an answer too, in the API's words."""
    try:
        response = await client.request(
            request.method, request.path, params=request.query, headers=request.headers, json=request.body
        )
    except httpx.HTTPError as error:
        return ApiAnswer(f"API: expected an answer, found {type(error).__name__}; try again", is_error=True)
    if response.status_code >= FAILED:
        return ApiAnswer(_problem(response), is_error=True)
    if not response.content:
        return ApiAnswer("done")
    if len(response.text) > LONGEST_ANSWER:
        return ApiAnswer(
            f"answer: expected at most {LONGEST_ANSWER:,} characters, found {len(response.text):,}; "
            "ask for less: a smaller limit, or a narrower filter",
            is_error=True,
        )
    data = response.json()
    shown = data if isinstance(data, dict) else {"items": data}
    if "etag" in response.headers:
        shown = {"if_match": response.headers["etag"], **shown}
    return ApiAnswer(json.dumps(shown, ensure_ascii=False), shown)


async def read(client: httpx.AsyncClient, path: str) -> Any:
    """What the API answers at the start. Raises Refused for a token that is not accepted, StoreUnavailable."""
    try:
        response = await client.get(f"{API}{path}")
    except httpx.HTTPError as error:
        raise StoreUnavailable(
            f"{client.base_url}: expected the API to answer, found {type(error).__name__}; start it, or correct --url"
        ) from None
    if response.status_code == UNAUTHORIZED:
        raise Refused("STEPWARD_TOKEN: expected a token that is known and live; make one: stepward token create")
    if response.status_code >= FAILED:
        raise StepwardError(f"{client.base_url}{API}{path}: expected an answer, found: {_problem(response)}")
    return response.json()


def _problem(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"expected an answer of the API, found status {response.status_code}"
