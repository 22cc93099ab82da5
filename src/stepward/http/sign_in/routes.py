"""``/login``, ``/login/openid``, ``/login/callback`` and ``/logout``."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie, State
from litestar.enums import RequestEncodingType
from litestar.handlers import HTTPRouteHandler
from litestar.params import Body
from msgspec import Struct

from stepward.client import session_of
from stepward.http.access.api_tokens import TokenSecret
from stepward.http.access.authentication import COOKIE, Credentials
from stepward.http.access.incoming_request import IncomingRequest
from stepward.http.access.permissions import Permission
from stepward.http.access.principals import SignIn
from stepward.http.dependencies import RequestPrincipal
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.sign_in import sessions
from stepward.http.sign_in.openid import LOGIN_SECONDS, OpenIdProvider
from stepward.http.sign_in.pages import onward_page, sign_in_page

LOGIN_COOKIE = "stepward_login"
HTML = "text/html"


class TokenForm(Struct, frozen=True, kw_only=True):
    """The form of a sign-in by token."""

    token: str = ""


@get("/login", permission=Permission.PUBLIC, include_in_schema=False, media_type=HTML)
async def show_login(request: Request[Any, Any, Any], state: State) -> str:
    """The page with the sign-in forms."""
    return sign_in_page(_base(request), has_provider=state.provider is not None)


@post("/login", permission=Permission.PUBLIC, include_in_schema=False, status_code=200)
async def sign_in_by_token(
    request: Request[Any, Any, Any],
    state: State,
    data: Annotated[TokenForm, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[str]:
    """Begin a session with an API token."""
    incoming: IncomingRequest = request.auth
    credentials: Credentials = state.credentials
    client = await state.source.client()
    try:
        token = await credentials.token_of(incoming, data.token.strip())
    except HttpRefusal as refusal:
        page = sign_in_page(_base(request), has_provider=state.provider is not None, problem=refusal.detail)
        return Response(page, status_code=refusal.status, media_type=HTML, headers=refusal.headers)
    return _signed_in(request, await sessions.begin_by_token(client, token))


@get("/login/openid", permission=Permission.PUBLIC, include_in_schema=False)
async def sign_in_elsewhere(request: Request[Any, Any, Any], state: State) -> Response[None]:
    """Redirect the browser to the OpenID provider."""
    incoming: IncomingRequest = request.auth
    state.credentials.check_failures(incoming.address)
    address, browser = await _provider(state).begin()
    login_cookie = Cookie(
        key=LOGIN_COOKIE,
        value=browser,
        path=f"{_base(request)}/login",
        max_age=int(LOGIN_SECONDS),
        secure=incoming.is_https,
        httponly=True,
        samesite="lax",
    )
    return Response(None, status_code=303, headers={"Location": address}, cookies=[login_cookie])


@get("/login/callback", permission=Permission.PUBLIC, include_in_schema=False)
async def come_back(request: Request[Any, Any, Any], state: State) -> Response[str]:
    """Finish a login when the provider redirects the browser back."""
    incoming: IncomingRequest = request.auth
    try:
        person = await _provider(state).finish(incoming.query, incoming.cookie(LOGIN_COOKIE))
    except HttpRefusal as refusal:
        await state.credentials.failed(incoming, "login")
        page = sign_in_page(_base(request), has_provider=True, problem=refusal.detail)
        return Response(page, status_code=refusal.status, media_type=HTML)
    return _signed_in(request, await sessions.begin_by_provider(await state.source.client(), person))


@post("/logout", permission=Permission.SIGNED_IN, include_in_schema=False, status_code=200)
async def sign_out(request: Request[Any, Any, Any], state: State, principal: RequestPrincipal) -> Response[str]:
    """End the session."""
    if principal.sign_in is not SignIn.SESSION:
        raise HttpRefusal(409, f"logout: expected a session, found {principal.name} signed in otherwise")
    session = session_of(await state.source.client())
    await session.store.operators.revoke_credential(principal.credential, principal.name)
    expired = Cookie(key=COOKIE, value="", path=_base(request) or "/", max_age=0, httponly=True, samesite="strict")
    return Response(onward_page(_base(request), "/login"), media_type=HTML, cookies=[expired])


SIGN_IN_ROUTES: tuple[HTTPRouteHandler, ...] = (show_login, sign_in_by_token, sign_in_elsewhere, come_back, sign_out)


def _signed_in(request: Request[Any, Any, Any], secret: TokenSecret) -> Response[str]:
    incoming: IncomingRequest = request.auth
    cookie = sessions.session_cookie(secret, _base(request), secure=incoming.is_https)
    return Response(onward_page(_base(request), "/"), media_type=HTML, cookies=[cookie])


def _provider(state: State) -> OpenIdProvider:
    provider: OpenIdProvider | None = state.provider
    if provider is None:
        raise HttpRefusal(404, "login: expected a token, as no OpenID provider is set up; use /login")
    return provider


def _base(request: Request[Any, Any, Any]) -> str:
    return str(request.scope.get("stepward.base", ""))
