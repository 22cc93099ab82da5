"""Sign-in with a browser: by an API token, or at an OpenID provider."""
