"""Defines the protocol messages that Bough reads, and the capabilities that it announces."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

import msgspec

from bough import __version__
from bough.agents.acp_params import Pair, ReceivedPrompt
from bough.agents.json_rpc import INVALID_PARAMS, Json, RpcError
from bough.core.state.limits.session_limit import MadeRoom
from bough.core.transcripts.files import NewFile
from bough.model.file import is_plain_name
from bough.model.session import PermissionMode

PROTOCOL_VERSION = 1
CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
}
AGENT_INFO: Json = {"name": "bough", "title": "Bough", "version": __version__}
TOKEN = "token"
AUTH: list[Json] = [
    {
        "id": TOKEN,
        "name": "Bough's token",
        "description": "`bough acp` finds it on the server's machine; elsewhere set BOUGH_URL and BOUGH_TOKEN.",
    }
]


Settings = TypeVar("Settings", bound=msgspec.Struct)


class _Params(msgspec.Struct, rename="camel", kw_only=True):
    pass


class EditorMcpServer(_Params):
    """An MCP server from an editor; a stdio server has no type."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: list[str] = []
    env: list[Pair] = []
    url: str = ""
    headers: list[Pair] = []


class SessionSettings(_Params, forbid_unknown_fields=True):
    """Optional settings in `_meta.bough` of a new session or a fork. With `branch`, it works in a new worktree on that
    git branch. `confirmFolder` is a person's confirmation that it may work in an unusual folder.
    At the limit on sessions, `makeRoom` completes the one that has been idle longest."""

    preset: str | None = None
    agent: str | None = None
    branch: str | None = None
    mode: PermissionMode | None = None
    model: str | None = None
    effort: str | None = None
    title: str | None = None
    confirm_folder: bool = False
    make_room: bool = False


class PromptSettings(_Params, forbid_unknown_fields=True):
    """Optional settings in `_meta.bough` of a prompt. At the limit on sessions, `makeRoom` completes the one that has
    been idle longest if the prompt resumes a session that has ended."""

    make_room: bool = False


class EditorPrompt(ReceivedPrompt):
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class EditorInitialize(_Params):
    protocol_version: Annotated[int, msgspec.Meta(ge=0, le=65535)]
    client_capabilities: dict[str, Any] | None = None
    client_info: dict[str, Any] | None = None


class Authenticate(_Params):
    method_id: str


class NewSessionParams(_Params):
    cwd: str
    mcp_servers: list[EditorMcpServer]
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class ExistingSession(_Params):
    """The parameters of load, resume and fork."""

    session_id: str
    cwd: str
    mcp_servers: list[EditorMcpServer] = []
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class _Image(_Params):
    """An image block, or the content of an attached image file."""

    mime_type: str
    uri: str | None = None
    data: str | None = None
    blob: str | None = None


def read_settings(meta: dict[str, Any] | None) -> SessionSettings:
    return _read_meta(meta, SessionSettings)


def read_prompt_settings(meta: dict[str, Any] | None) -> PromptSettings:
    return _read_meta(meta, PromptSettings)


def _read_meta(meta: dict[str, Any] | None, kind: type[Settings]) -> Settings:
    try:
        return msgspec.convert((meta or {}).get("bough") or {}, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid params: _meta.bough: {error}") from error


def made_room_meta(made_room: MadeRoom | None) -> Json:
    """Returns the part of an answer that names the session that was completed to make room, if there was one."""
    return {"madeRoom": msgspec.to_builtins(made_room)} if made_room is not None else {}


def read_prompt(blocks: list[dict[str, Any]]) -> tuple[str, list[NewFile]]:
    """Returns a prompt's text and its images. Links become inline Markdown and attached texts are included in full; a
    prompt that has only images gets their names as its text."""
    images = {index: image for index, block in enumerate(blocks) if (image := _image(block, index)) is not None}
    text = _text([block for index, block in enumerate(blocks) if index not in images])
    files = list(images.values())
    return text if text.strip() else " ".join(f"[{file.name}]" for file in files), files


def _image(block: dict[str, Any], index: int) -> NewFile | None:
    """Returns the image of an image block or an attached image file."""
    if block.get("type") not in ("image", "resource"):
        return None
    body: Any = block if block["type"] == "image" else block.get("resource")
    try:
        image = msgspec.convert(body, _Image)
    except msgspec.ValidationError:
        return None
    data = image.data if block["type"] == "image" else image.blob
    if data is None or not image.mime_type.startswith("image/"):
        return None
    name = unquote((image.uri or "").partition("?")[0].rpartition("/")[2])
    default_name = f"image-{index + 1}.{image.mime_type.removeprefix('image/')}"
    return NewFile(name if is_plain_name(name) else default_name, image.mime_type, data=data)


def _text(blocks: list[dict[str, Any]]) -> str:
    text, inline = "", True
    for block in blocks:
        kind = block.get("type")
        is_link = kind == "resource_link"
        if kind == "text" and isinstance(block.get("text"), str):
            part: str = block["text"]
        elif is_link and isinstance(block.get("uri"), str):
            part = f"[{block.get('name') or block['uri']}]({block['uri']})"
        elif kind == "resource" and isinstance(resource := block.get("resource"), dict):
            part = _resource(resource)  # pyright: ignore[reportUnknownArgumentType]
        else:
            raise RpcError(INVALID_PARAMS, f"Invalid params: Bough does not accept {kind!r} blocks in a prompt")
        text += part if inline or is_link or not text else f"\n{part}"
        inline = is_link
    return text


def _resource(resource: dict[str, Any]) -> str:
    text = resource.get("text")
    if not isinstance(text, str):
        raise RpcError(INVALID_PARAMS, "Invalid params: Bough accepts attached text, not binary data")
    return f"Attached, {resource.get('uri', '')}:\n\n{text}\n"
