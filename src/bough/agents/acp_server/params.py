"""Defines the parameters that only our own agents read, and reads the blocks of prompts; `acp_params` has the others.
The server checks what they refer to."""

from typing import Any, Literal
from urllib.parse import unquote

import msgspec

from bough.agents.acp_params import Pair
from bough.agents.json_rpc import INVALID_PARAMS, Json, RpcError


class _Params(msgspec.Struct, rename="camel", kw_only=True):
    pass


class ReceivedMcpServer(_Params):
    """An MCP server as the client passes it. One on stdio carries no type."""

    name: str
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: list[str] = []
    env: list[Pair] = []
    url: str = ""
    headers: list[Pair] = []

    def __post_init__(self) -> None:
        if not (self.command if self.type == "stdio" else self.url):
            raise ValueError(f"MCP server {self.name!r} has no {'command' if self.type == 'stdio' else 'url'}")


class ReceivedInitialize(_Params):
    protocol_version: int
    client_capabilities: dict[str, Any] | None = None


class ReceivedNewSession(_Params):
    cwd: str
    mcp_servers: list[ReceivedMcpServer]


class LoadSession(ReceivedNewSession):
    session_id: str


class ResumeSession(_Params):
    """Also the parameters of session/fork."""

    session_id: str
    cwd: str
    mcp_servers: list[ReceivedMcpServer] = []


class _Text(_Params, tag_field="type", tag="text"):
    text: str


class _Image(_Params, tag_field="type", tag="image"):
    data: str
    mime_type: str


class _Audio(_Params, tag_field="type", tag="audio"):
    pass


class _Link(_Params, tag_field="type", tag="resource_link"):
    uri: str
    name: str


class _Body(_Params):
    uri: str
    text: str | None = None
    blob: str | None = None


class _Resource(_Params, tag_field="type", tag="resource"):
    resource: _Body


_BLOCKS = list[_Text | _Image | _Audio | _Link | _Resource]


def check_blocks(blocks: list[Json]) -> set[str]:
    """Returns the kinds of content in a prompt. Raises `RpcError` if a block is malformed."""
    try:
        msgspec.convert(blocks, type=_BLOCKS)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from error
    return {block["type"] for block in blocks}


def last_text(blocks: list[Json]) -> str:
    """Returns the last text of a prompt, the only one that an agent acts on."""
    return ["", *texts(blocks)][-1]


def attachments(blocks: list[Json]) -> list[str]:
    """Describes each image and embedded file of a prompt by its name, type and size."""
    descriptions: list[str] = []
    for block in blocks:
        if block["type"] not in ("image", "resource"):
            continue
        body: Json = block.get("resource", block)
        base64: str = body.get("data") or body.get("blob") or ""
        text: str | None = body.get("text")
        size = len(base64) * 3 // 4 - base64.count("=") if text is None else len(text.encode())
        name = unquote((body.get("uri") or block["type"]).rpartition("/")[2])
        unit = "byte" if size == 1 else "bytes"
        descriptions.append(f"{name} ({body.get('mimeType') or 'text/plain'}, {size} {unit})")
    return descriptions


def texts(blocks: list[Json]) -> list[str]:
    """Returns the text blocks of a prompt."""
    return [block["text"] for block in blocks if block["type"] == "text"]
