"""Access over HTTP: principals, roles, scopes, and the choke point that every request passes."""
