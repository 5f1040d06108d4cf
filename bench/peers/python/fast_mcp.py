"""FastMCP as its documentation says: the decorator, over stdio."""

from fastmcp import FastMCP

server = FastMCP("demo", version="1.0.0")


@server.tool(output_schema=None)
def add(a: float, b: float) -> str:
    """Add two numbers"""
    total = a + b
    return str(int(total)) if total.is_integer() else repr(total)


@server.tool(output_schema=None)
def echo(message: str) -> str:
    """Say it back"""
    return message


server.run(show_banner=False)
