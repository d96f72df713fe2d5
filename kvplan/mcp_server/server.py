"""The server: the tools of the folder, one call after another, each error with its hint. Source: modelcontextprotocol.io, 2025-11-25."""

import json
import logging
import re
from collections.abc import Mapping
from types import ModuleType

import anyio
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from kvplan import __version__, _discover
from kvplan.core.errors import KvplanError

TOOLS = "kvplan.mcp_server.tools"
_INSTRUCTIONS = (
    "Ask estimate before you change a model, context, batch, KV type or GPU of an LLM server, recommend for settings that fit, check after "
    "you edit deployment files (with diff: what your change made worse), explain for logs and for rule ids. Bytes are exact integers. "
    "Nothing is run or written, and no network is asked unless `online` is true."
)
_NO_UNICODE = re.compile("[\ud800-\udfff]")  # bytes of names that are no UTF-8; with one in it no answer could be sent
_Context = ServerRequestContext[dict[str, object]]


def serve() -> None:
    """Answer on stdin and stdout until the client hangs up."""
    logging.getLogger("mcp").setLevel(logging.WARNING)
    anyio.run(_serve)


def tools() -> dict[str, ModuleType]:
    """Every tool by its name."""
    return {module.NAME: module for module in _discover.modules(TOOLS).values()}


async def _serve() -> None:
    found = tools()
    one_by_one = anyio.CapacityLimiter(1)  # what they share (caches, whether the Hub may be asked) is made for one at a time

    async def listed(context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(module) for module in found.values()])

    async def called(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(answered, found.get(params.name), params, limiter=one_by_one)

    server = Server("kvplan", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _described(module: ModuleType) -> types.Tool:
    reads = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    return types.Tool(name=module.NAME, description=module.DESCRIPTION, input_schema=module.Asked.model_json_schema(), annotations=reads)


def answered(module: ModuleType | None, params: types.CallToolRequestParams) -> types.CallToolResult:
    """The tool's JSON, structured and as text; an error with kind, message and hint where there is none."""
    if module is None:
        return _failed({"kind": "unknown_tool", "message": f"unknown tool '{params.name}'", "hint": "tools/list shows all"})
    try:
        asked = module.Asked.model_validate(params.arguments or {})
    except ValidationError as problem:
        said = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}" for one in problem.errors())
        return _failed({"kind": "usage", "message": said, "hint": f"known: {', '.join(module.Asked.model_fields)}"})
    try:
        text = _NO_UNICODE.sub("\ufffd", module.answer(asked))
    except KvplanError as refused:
        return _failed(_told(refused, online=asked.online))
    except Exception as bug:  # the session goes on
        return _failed({"kind": "internal_error", "message": f"{type(bug).__name__}: {bug}", "hint": "please report it"})
    return types.CallToolResult(content=[types.TextContent(text=text.strip())], structured_content=json.loads(text))


def _told(refused: KvplanError, *, online: bool) -> dict[str, str]:
    """An error; where the Hub was not asked because nobody said so, how to say it."""
    message, hint = "\n".join((refused.message, *refused.details)), refused.hint
    if refused.kind == "offline" and not online:
        message, hint = message.replace("HF_HUB_OFFLINE is set", "the Hub was not asked"), hint.replace("unset it", "say online: true")
    return {"kind": refused.kind, "message": message, "hint": hint}


def _failed(error: Mapping[str, str]) -> types.CallToolResult:
    said = {name: _NO_UNICODE.sub("\ufffd", text) for name, text in error.items()}
    text = f"error: {said['message']}" + (f"\nhint: {said['hint']}" if said["hint"] else "")
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content={"error": said}, is_error=True)
