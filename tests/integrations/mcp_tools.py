"""An MCP server over standard input and output, with one tool that works and one that refuses."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("stock")


@server.tool()
def left(article: str) -> str:
    """How many are left."""
    return f"3 of {article}"


@server.tool()
def reserve(article: str) -> str:
    """Reserve one."""
    raise ToolError(f"no {article} is left")


if __name__ == "__main__":
    server.run("stdio")
