"""The operator's tools for an assistant, over the Model Context Protocol: each tool is one request to the HTTP API."""
