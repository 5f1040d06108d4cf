"""The official Python SDK as its README says: MCPServer and its decorator."""

from mcp.server import MCPServer

server = MCPServer("demo", version="1.0.0")


@server.tool(structured_output=False)
def add(a: float, b: float) -> str:
    """Add two numbers"""
    total = a + b
    return str(int(total)) if total.is_integer() else repr(total)


@server.tool(structured_output=False)
def echo(message: str) -> str:
    """Say it back"""
    return message


server.run("stdio")
