"""``/api/v1/dead-letters``: messages that could not be processed, put back or discarded."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post
from litestar.params import Body
from msgspec import Meta, Struct

from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.act_reasons import Reason
from stepward.http.api.resources import DeadLetterResource, resource
from stepward.http.api.system.row_numbers import row_number
from stepward.http.api.tasks.task_reads import LIMIT, MOST, ListLimit
from stepward.http.dependencies import RequestClient
from stepward.model.records import DeadLetter
from stepward.payload.secret_values import redacted_text


class LettersRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Dead letters by their numbers."""

    numbers: Annotated[list[int], Meta(min_length=1, max_length=MOST)]


class LettersResult(Struct, frozen=True):
    """The numbers of the dead letters that were found."""

    numbers: list[int]


@get("/dead-letters", permission=Permission.READ_ALL)
async def list_letters(client: RequestClient, limit: ListLimit = LIMIT) -> list[DeadLetterResource]:
    """List messages that could not be processed, newest first."""
    return [_letter(client, letter) for letter in await client.dead_letters(limit)]


@post("/dead-letters/put-back", permission=Permission.OPERATE, status_code=200)
async def put_back_letters(
    client: RequestClient, data: Annotated[LettersRequest, Body()], reason: Reason = None
) -> LettersResult:
    """Put dead letters back into their queues, as new messages."""
    found = LettersResult(await client.unscoped.put_back(*_numbers(data)))
    await client.give_reason("put_back", ", ".join(map(str, found.numbers)), reason)
    return found


@post("/dead-letters/discard", permission=Permission.ADMINISTER, status_code=200)
async def discard_letters(
    client: RequestClient, data: Annotated[LettersRequest, Body()], reason: Reason = None
) -> LettersResult:
    """Delete dead letters for good."""
    found = LettersResult(await client.unscoped.discard(*_numbers(data)))
    await client.give_reason("discard", ", ".join(map(str, found.numbers)), reason)
    return found


def _numbers(data: LettersRequest) -> list[int]:
    return [row_number(number, "numbers") for number in data.numbers]


def _letter(client: ScopedClient, letter: DeadLetter) -> DeadLetterResource:
    shown = client.principal.payloads
    return resource(
        DeadLetterResource,
        letter,
        body=redacted_text(letter.body).decode(errors="backslashreplace") if shown else None,
        reason=letter.reason if shown else None,
    )
