"""The pages before sign-in, with the console's style sheet."""

from __future__ import annotations

from html import escape


def sign_in_page(base: str, *, has_provider: bool, problem: str = "") -> str:
    """The page with the sign-in forms."""
    base = escape(base)
    provider = (
        f'<p><a class="button primary" href="{base}/login/openid">Sign in with your organisation</a></p>'
        '<p class="or">or</p>'
        if has_provider
        else ""
    )
    alert = f'<p class="cause bad" role="alert">{escape(problem)}</p>' if problem else ""
    return _page(
        base,
        f'{alert}{provider}<form method="post" action="{base}/login">'
        '<p><label for="token">API token</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required autofocus></p>'
        '<p><button class="button primary" type="submit">Sign in</button></p></form>'
        '<p class="quiet">An admin makes one: <code>stepward token create</code></p>',
    )


def onward_page(base: str, path: str) -> str:
    """A page that redirects by itself: a SameSite cookie is not sent along a redirect from another site."""
    address = escape(base + path)
    return _page(
        escape(base),
        f'<p><a href="{address}">Go on</a></p>',
        head=f'<meta http-equiv="refresh" content="0;url={address}">',
    )


def _page(base: str, body: str, head: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stepward: sign in</title>{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="{base}/static/icon.svg" type="image/svg+xml">'
        f'<link rel="stylesheet" href="{base}/static/console.css"></head>'
        f'<body class="alone"><main class="sign-in"><img src="{base}/static/icon.svg" width="44" height="44" alt="">'
        f"<h1>Stepward</h1>{body}</main></body></html>"
    )
