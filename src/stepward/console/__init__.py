"""The operator's web console: server-rendered pages behind the same choke point as the API."""
