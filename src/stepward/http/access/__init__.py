"""Who may do what over HTTP: principals, roles, scopes, and the one place where every request is let through."""
