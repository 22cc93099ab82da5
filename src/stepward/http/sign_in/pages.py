"""The few pages that somebody sees who has not signed in; plain, as nothing inline may run."""

from __future__ import annotations

from html import escape


def sign_in_page(base: str, *, has_provider: bool, problem: str = "") -> str:
    """Where somebody signs in."""
    provider = (
        f'<p><a href="{escape(base)}/login/openid">Sign in with your organisation</a></p>' if has_provider else ""
    )
    said = f'<p role="alert">{escape(problem)}</p>' if problem else ""
    return _page(
        f'{said}{provider}<form method="post" action="{escape(base)}/login">'
        '<p><label for="token">API token</label><br>'
        '<input id="token" name="token" type="password" autocomplete="off" required autofocus></p>'
        '<p><button type="submit">Sign in</button></p></form>'
    )


def onward_page(address: str) -> str:
    """A page that goes on by itself: a cookie of the same site is not sent along a redirect from another one."""
    return _page(
        f'<p><a href="{escape(address)}">Go on</a></p>',
        head=f'<meta http-equiv="refresh" content="0;url={escape(address)}">',
    )


def _page(body: str, head: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stepward: sign in</title>{head}'
        '<meta name="viewport" content="width=device-width"></head>'
        f"<body><main><h1>Stepward</h1>{body}</main></body></html>"
    )
