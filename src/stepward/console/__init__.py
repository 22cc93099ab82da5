"""The operator's web console: pages made at the server, behind the same choke point as the API."""
