"""How do the tools speak the Model Context Protocol? Standard input and output, read-only.

The only module that knows the MCP SDK; imported when the server starts, as the SDK takes about a
second to load.
"""

from __future__ import annotations

import asyncio
import json
import logging
from importlib import metadata
from pathlib import Path
from typing import Any

import mcp.types as wire
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from sidelight.bridge.asking import Asker
from sidelight.errors import SidelightError, UsageError
from sidelight.mcp.tools import INSTRUCTIONS, TOOLS, Tool

log = logging.getLogger(__name__)


def serve(vault: Path, data_dir: Path | None) -> None:
    """Answers on standard input and output until the client hangs up.

    Raises:
        VaultError: there is no such vault.
    """
    asker = Asker(vault, data_dir)
    try:
        asyncio.run(_serve(asker))
    finally:
        asker.close()


async def _serve(asker: Asker) -> None:
    server = make_server(asker)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def make_server(asker: Asker) -> Server[Any]:
    """The server of one vault, not yet connected to anything."""
    tools = {tool.name: tool for tool in TOOLS}
    listed = wire.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def list_tools(_context: Any, _params: Any) -> wire.ListToolsResult:
        return listed

    async def call_tool(_context: Any, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        return await asyncio.to_thread(_called, asker, tools, params.name, params.arguments or {})

    return Server(
        "sidelight",
        version=metadata.version("sidelight"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool) -> wire.Tool:
    return wire.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=wire.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _called(
    asker: Asker, tools: dict[str, Tool], name: str, arguments: dict[str, Any]
) -> wire.CallToolResult:
    """What a tool answers; a failure is an answer that says what can be done."""
    try:
        tool = tools.get(name)
        if tool is None:
            raise UsageError(f"There is no tool '{name}', only {', '.join(tools)}.")
        answer = tool.run(asker, tool.checked(arguments))
    except SidelightError as error:
        failure = {"code": error.code, "message": error.message, "remedy": error.remedy}
        return _result(failure, failed=True)
    return _result(answer, failed=False)


def _result(answer: dict[str, Any], *, failed: bool) -> wire.CallToolResult:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)], is_error=failed)
