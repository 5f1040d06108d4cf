"""Drives the demo server over stdio with the official Python client, in every revision that it can be made to use.

`python drive.py DEMO` prints a line per check, `ok ...` or `FAIL ...`, and exits 1 if any failed.
"""

import json
import logging
import sys
from contextlib import AsyncExitStack, contextmanager

import anyio
import mcp.client.session
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
CONNECTIONS = [(MODERN, MODERN, MODERN), ("auto", "auto", MODERN)] + [(r, "legacy", r) for r in LEGACY]

failed = False


async def drive(name, mode, revision):
    # The handshake offers one revision, a constant of the client: the only way to make it speak an older one.
    if mode == "legacy":
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision

    @contextmanager
    def check(what):
        global failed
        try:
            yield
            print(f"ok python {name}: {what}", flush=True)
        except Exception as error:
            failed = True
            reason = " ".join(repr(error).split())
            print(f"FAIL python {name}: {what}: {reason}", flush=True)

    wire = Wire()
    anyio.open_process = wire.open_process
    complaints = Complaints()
    logging.getLogger().handlers = [complaints]
    stack = AsyncExitStack()
    client = None

    with check("connect"):
        server = StdioServerParameters(command=sys.argv[1])
        client = await stack.enter_async_context(Client(server, mode=mode, read_timeout_seconds=10))
        equal(client.protocol_version, revision)
        if mode != MODERN:  # a client told which revision to speak asks nothing at the start
            equal(client.server_info.name, "demo")
    if client is None:
        return

    with check("list tools"):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        equal(sorted(tools), ["add", "boom", "echo", "forecast", "sleep"])
        equal(tools["forecast"].input_schema["required"], ["location"])
    with check("list resources, templates and prompts"):
        equal([r.uri for r in (await client.list_resources()).resources], ["demo://greeting"])
        templates = (await client.list_resource_templates()).resource_templates
        equal([t.uri_template for t in templates], ["greeting://{name}"])
        equal([p.name for p in (await client.list_prompts()).prompts], ["review"])
    with check("call add"):
        equal(outcome(await client.call_tool("add", {"a": 2, "b": 3})), (False, "5"))
    with check("call echo"):
        message = 'line\nquote " backslash \\ null \0 é 漢 🎈'
        equal(outcome(await client.call_tool("echo", {"message": message})), (False, message))
    with check("call boom: a tool error"):
        equal(outcome(await client.call_tool("boom", {})), (True, "city not found"))
    with check("an unknown tool: a protocol error"):
        equal(await error_code(client.call_tool("nobody", {})), -32602)
    with check("bad arguments: a tool error that names them"):
        arguments = {"location": "Bern", "days": "two", "units": "k"}
        is_error, text = outcome(await client.call_tool("forecast", arguments))
        equal((is_error, "days" in text, "units" in text), (True, True, True))
    with check("read the resource"):
        contents = (await client.read_resource("demo://greeting")).contents
        equal([(c.uri, c.text) for c in contents], [("demo://greeting", "Hello, world!")])
    with check("read through the template"):
        contents = (await client.read_resource("greeting://Ada")).contents
        equal([(c.uri, c.text) for c in contents], [("greeting://Ada", "Hello, Ada!")])
    with check("an unknown resource: a protocol error"):
        code = -32602 if revision == MODERN else -32002
        equal(await error_code(client.read_resource("nobody://home")), code)
    with check("get the prompt"):
        messages = (await client.get_prompt("review", {"code": "let x;"})).messages
        equal([(m.role, "let x;" in m.content.text) for m in messages], [("user", True)])
    with check("a prompt without its argument: a protocol error"):
        equal(await error_code(client.get_prompt("review", {})), -32602)
    with check("twenty calls at once, a slow one first"):
        answers = []

        async def call(tool, arguments):
            answers.append(outcome(await client.call_tool(tool, arguments)))

        async with anyio.create_task_group() as calls:
            calls.start_soon(call, "sleep", {"ms": 500})
            for a in range(20):
                calls.start_soon(call, "add", {"a": a, "b": 1})
        equal(sorted(int(text) for _, text in answers[:20]), list(range(1, 21)))
        equal(answers[20:], [(False, "slept")])
    with check("leave a call: it is never answered, and the next one is"):
        with anyio.move_on_after(0.1) as scope:
            await client.call_tool("sleep", {"ms": 400})
        equal(scope.cancelled_caught, True)
        equal(outcome(await client.call_tool("add", {"a": 2, "b": 3})), (False, "5"))
        await anyio.sleep(0.5)
        wire.assert_cancelled("sleep")
    with check("a call that times out is cancelled"):
        code = await error_code(client.call_tool("sleep", {"ms": 60_000}, read_timeout_seconds=0.1))
        equal(code, mcp.types.REQUEST_TIMEOUT)
        equal(outcome(await client.call_tool("echo", {"message": "still here"})), (False, "still here"))
        wire.assert_cancelled("sleep")
    # The server waits for calls in flight before it ends: an end within a second shows that none was left.
    with check("close: the server ends at once, with status 0"):
        start = anyio.current_time()
        await stack.aclose()
        seconds = anyio.current_time() - start
        equal(wire.process.returncode, 0)
        assert seconds < 1, f"it took {seconds:.1f} s"
    with check("the client had nothing to complain about"):
        equal(complaints.messages, [])


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


def outcome(result):
    return result.is_error, "".join(content.text for content in result.content)


async def error_code(request):
    try:
        return f"no error but {await request!r}"
    except MCPError as error:
        return error.code


class Wire:
    """The server's process, and what goes over the wire: a client does not show what a cancelled call must not get."""

    spawn = staticmethod(anyio.open_process)

    def __init__(self):
        self.sent, self.received = bytearray(), bytearray()

    async def open_process(self, *args, **kwargs):
        self.process = await Wire.spawn(*args, **kwargs)
        send, receive = self.process.stdin.send, self.process.stdout.receive

        async def tapped_send(data):
            self.sent += data
            await send(data)

        async def tapped_receive(*args):
            data = await receive(*args)
            self.received += data
            return data

        self.process.stdin.send, self.process.stdout.receive = tapped_send, tapped_receive
        return self.process

    def assert_cancelled(self, tool):
        sent = [json.loads(line) for line in self.sent.splitlines()]
        received = [json.loads(line) for line in self.received.splitlines()]
        call = [message for message in sent if message.get("params", {}).get("name") == tool][-1]
        cancelled = [m["params"]["requestId"] for m in sent if m.get("method") == "notifications/cancelled"]
        assert call["id"] in cancelled, "the client sent no cancellation"
        assert call["id"] not in [message.get("id") for message in received], "the cancelled call was answered"


class Complaints(logging.Handler):
    """What the client logs as a warning or worse."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


async def main():
    with anyio.fail_after(120):
        for connection in CONNECTIONS:
            await drive(*connection)


anyio.run(main)
sys.exit(failed)
