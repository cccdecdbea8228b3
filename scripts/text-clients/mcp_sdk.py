import asyncio
import sys

from calls import ORIGIN, call
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

# The program that starts the server, and a model to start it with.
NODE, PROGRAM, MODEL = sys.argv[2:5]

# With a handshake, and by the revision that has none.
for mode, revision in {"legacy": "2025-11-25", "auto": "2026-07-28"}.items():

    @call(f"HTTP, {revision}: tools, their parts and failures")
    def _():
        async def ask():
            async with Client(f"{ORIGIN}/mcp", mode=mode) as client:
                assert client.protocol_version == revision, client.protocol_version
                assert "sum" in [tool.name for tool in (await client.list_tools()).tools]
                assert (await client.call_tool("sum", {"x": [1, 2.5]})).structured_content == {"sum": [3.5]}
                parts = []

                async def progress(part, total, message):
                    parts.append(part)

                await client.call_tool("test_tool_with_progress", {}, progress_callback=progress)
                assert parts == [1, 2, 3], parts
                assert (await client.call_tool("test_error_handling", {})).is_error

        asyncio.run(ask())

    @call(f"stdio, {revision}: tools")
    def _():
        async def ask():
            server = StdioServerParameters(command=NODE, args=[PROGRAM, "mcp", MODEL, "--name", "half"])
            async with Client(stdio_client(server, errlog=open("/dev/null", "w")), mode=mode) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["half"]
                assert (await client.call_tool("half", {"x": [1, 2.5]})).structured_content == {"y": [2.5, 3.25]}

        asyncio.run(ask())
