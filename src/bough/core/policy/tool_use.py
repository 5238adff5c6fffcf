"""Reading what an agent wants to do out of its own words, which differ from agent to agent (P3). Nothing is decided
here; where the words leave doubt, the use is of kind `other`, about which people are asked."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, cast, get_args
from urllib.parse import unquote

import msgspec

from bough.agents.catalog.entry import Quirks
from bough.core.policy.decide import OF_FILES, OWN_SERVER, TAKES_ALONG
from bough.core.policy.patterns import SHELLS
from bough.model.tool import ToolKind, ToolUse

Json = dict[str, Any]

KINDS: tuple[ToolKind, ...] = get_args(ToolKind)
# Kinds for which *always* is said to the files, whatever is read or written there.
BY_PATH = ("read", "edit", "search")
# Of an agent about which nothing is known.
NO_QUIRKS = Quirks()
# Agents of which one knows how they tell that a tool is one of an MCP server.
TELL_SERVERS = frozenset({"claude-code", "codex", "gemini", "opencode", "qwen"})
# A use that names more files is of kind `other`: each is looked up.
MOST_PATHS = 200
COMMAND_KEYS = ("command", "cmd", "fullCommandText")
PATH_KEYS = frozenset(
    {"file_path", "filePath", "filepath", "path", "fileName", "filename", "file", "notebook_path", "absolute_path"}
    | {"abs_path", "dir_path", "old_path", "new_path", "oldPath", "newPath", "source", "destination", "paths", "files"}
)
PATCH_KEYS = ("diff", "patch", "patchText", "input")
# What a person is not asked about twice: how an agent describes the same command.
TALK = frozenset({"description", "justification"})
_PATCHED = re.compile(
    r"^(?:Index: |\+\+\+ |--- |rename (?:from|to) |\*\*\* (?:(?:Add|Update|Delete) File|Move to): )(.+?)(?:\t.*)?$",
    re.MULTILINE,
)
_MCP_TITLE = re.compile(r"(.+) \(([^()]+) MCP Server\)")
_PARTED = re.compile(r"mcp__([^_]+(?:_[^_]+)*)__([^_]+(?:_[^_]+)*)")


def read(agent: str, cwd: str, body: Json, servers: Sequence[str] = (), quirks: Quirks = NO_QUIRKS) -> ToolUse:
    """A use of a tool, from a tool call as it is folded: all that was said of it before and with the question.

    `servers` are the names of the MCP servers that the session was given; which tools change the agent's mode, and
    whether it keeps to a sandbox, the catalog says.
    """
    home = os.path.realpath(cwd)
    title = str(body.get("title") or "")
    args = _dict(body.get("args"))
    kind: ToolKind = body["kind"] if body.get("kind") in KINDS and body["kind"] != "mcp" else "other"
    name = _name(agent, body, kind)
    server, tool, doubt = _server(agent, body, name, title, servers)
    command = None
    given: list[str] = []
    if server is not None:
        kind, name = "mcp", tool
    elif doubt:
        kind = "other"
    else:
        if name in quirks.mode_tools:
            kind = "switch_mode"
        # What a tool of another kind has among its arguments is not what it runs, or works on.
        if kind in ("execute", "other"):
            command = _command(agent, kind, title, args)
        if kind == "other" or kind in OF_FILES:
            given = list(dict.fromkeys(_paths(agent, body, args)))
    many = len(given) > MOST_PATHS
    if many:
        kind = "other"
    named = tuple(dict.fromkeys(_absolute(home, path) for path in given[:MOST_PATHS]))
    paths = tuple(dict.fromkeys(_resolved(path) for path in named))
    known = frozenset(paths)
    return ToolUse(
        agent=agent,
        cwd=home,
        kind=kind,
        name=name,
        server=server,
        command=command,
        paths=paths,
        named=tuple(path for path in named if path not in known),
        folders=tuple(path for path in paths if kind in TAKES_ALONG and _is_folder(path)),
        many=many,
        sandboxed=quirks.sandboxed,
        unsure_server=server is None and (doubt or (kind == "other" and not _tells(agent, body))),
        title=describe(f"{server}/{name}" if server else title or name or kind),
        key=_key(kind, f"{server}/{name}" if server else title, args, body, paths),
    )


def call(body: Json) -> Json:
    """A folded tool call in the words of ACP, for whoever is asked about it."""
    result = _dict(body.get("result"))
    told = {
        "toolCallId": body.get("toolCallId"),
        "title": body.get("title"),
        "kind": body.get("kind"),
        "name": body.get("name"),
        "status": result.get("status"),
        "content": result.get("content"),
        "locations": body.get("locations"),
        "rawInput": body.get("args"),
        "_meta": body.get("meta"),
        "firstTitle": body.get("firstTitle"),
    }
    return {name: value for name, value in told.items() if value}


def describe(title: str) -> str:
    """A title in one line."""
    return " ".join(title.replace("\0", "").split())[:500]


def _name(agent: str, body: Json, kind: str) -> str:
    """The tool's own name; an agent that tells none has its kind for one."""
    meta = _dict(body.get("meta"))
    name = _dict(meta.get("claudeCode")).get("toolName") or meta.get("toolName") or body.get("name") or ""
    if not name and agent == "gemini":
        name = str(body.get("toolCallId") or "").partition("__")[0]
    return str(name or kind)


# MCP servers


def _tells(agent: str, body: Json) -> bool:
    """Whether one would know it if the tool were one of an MCP server: by the agent, or by the tool's own name."""
    return agent in TELL_SERVERS or bool(body.get("name") or _dict(body.get("meta")).get("toolName"))


def _server(agent: str, body: Json, name: str, title: str, servers: Sequence[str]) -> tuple[str | None, str, bool]:
    """The MCP server of a tool and the tool's name there; or whether it seems to be of one, and cannot be told which.

    Bough's own server is known only by fields that the agent's program fills, never by what a title begins with: that
    may as well be another server's name, or anything that a model made up.
    """
    meta, args = _dict(body.get("meta")), _dict(body.get("args"))
    given = _dict(_dict(meta.get("claudeCode")).get("mcpServer")).get("name")
    if isinstance(given, str) and given:
        server = given
        return server, name.removeprefix(f"mcp__{server}__"), False
    if meta.get("is_mcp_tool_approval") or meta.get("is_mcp_tool_call"):
        told: Any = args.get("server"), args.get("tool")
        return (*told, False) if all(isinstance(one, str) for one in told) else (None, name, True)
    if name.startswith("mcp__"):
        server, tool = _parted(name, servers)
        if server == OWN_SERVER and agent == "claude-code":
            server = None
        return server, tool, server is None
    found = _titled(agent, body, title, servers)
    if found is None:
        return None, name, False
    server, tool = found
    return (None, tool, True) if server == OWN_SERVER else (server, tool, False)


def _parted(name: str, servers: Sequence[str]) -> tuple[str | None, str]:
    """Server and tool of a name like `mcp__SERVER__TOOL`, if there is only one way to part it."""
    parted = _PARTED.fullmatch(name)
    if parted is not None:
        return parted[1], parted[2]
    known = [one for one in servers if name.startswith(f"mcp__{one}__") and one != OWN_SERVER]
    return (known[0], name.removeprefix(f"mcp__{known[0]}__")) if len(known) == 1 else (None, name)


def _titled(agent: str, body: Json, title: str, servers: Sequence[str]) -> tuple[str, str] | None:
    """Server and tool from a title, where agents give nothing better, and only of servers that the session has."""
    if body.get("kind") not in (None, "other"):
        return None
    if agent == "gemini":
        shown = _MCP_TITLE.fullmatch(title)
        return (shown[2], shown[1]) if shown and shown[2] in (*servers, OWN_SERVER) else None
    if agent == "opencode":
        return _prefixed(title, "_", servers)
    if agent == "copilot":
        # It has more than the tool's name in the title only at first.
        return _prefixed(str(body.get("firstTitle") or title), "-", servers)
    return None


def _prefixed(title: str, mark: str, servers: Sequence[str]) -> tuple[str, str] | None:
    known = [one for one in (*servers, OWN_SERVER) if title.startswith(one + mark)]
    return (known[0], title.removeprefix(known[0] + mark)) if len(known) == 1 else None


# Commands and paths


def _command(agent: str, kind: str, title: str, args: Json) -> str | None:
    for key in COMMAND_KEYS:
        given: Any = args.get(key)
        if isinstance(given, str) and given.strip():
            return given
        if isinstance(given, list) and given and _texts(given) == given:
            return _joined(_texts(given))
    # Gemini tells a command only by its title, which may have been cut.
    if kind == "execute" and agent == "gemini" and title and not title.rstrip().endswith(("…", "...")):
        return title
    return None


def _joined(words: list[str]) -> str:
    """A command line from words; a script that is handed to a shell is the line."""
    if len(words) == 3 and os.path.basename(words[0]) in SHELLS and words[1] in ("-c", "-lc", "-ic", "-lic"):
        return words[2]
    return shlex.join(words)


def _paths(agent: str, body: Json, args: Json) -> Iterable[str]:
    """Every file that a call names anywhere."""
    result = _dict(body.get("result"))
    for place in _dicts(body.get("locations")):
        yield from _texts(place.get("path"))
    for block in _dicts(result.get("content")):
        if block.get("type") == "diff":
            yield from _texts(block.get("path"))
    for key, value in args.items():
        if key in PATH_KEYS:
            yield from _texts(value)
    changes = args.get("changes")
    yield from _dict(changes)
    for one in _dicts(changes):
        for key in PATH_KEYS:
            yield from _texts(one.get(key))
    for key in PATCH_KEYS:
        for patch in _texts(args.get(key)):
            yield from _patched(agent, patch)


def _patched(agent: str, patch: str) -> Iterable[str]:
    """The files that a patch names."""
    for found in _PATCHED.findall(patch):
        path = str(found).strip().strip('"')
        if path in ("/dev/null", "a/dev/null"):
            continue
        if path[:2] in ("a/", "b/"):
            # Copilot puts git's letter before absolute paths.
            path = path[1:] if agent == "copilot" else path[2:]
        yield path


def _dict(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _dicts(value: Any) -> list[Json]:
    return [_dict(one) for one in _list(value)]


def _texts(value: Any) -> list[str]:
    return [one for one in _list(value) if isinstance(one, str) and one]


def _absolute(cwd: str, path: str) -> str:
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if path.startswith("~") and "\0" not in path:
        path = os.path.expanduser(path)
    return os.path.normpath(os.path.join(cwd, path)) if ".." not in path.split("/") else os.path.join(cwd, path)


def _resolved(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except (OSError, ValueError):
        return False


def _key(kind: str, title: str, args: Json, body: Json, paths: tuple[str, ...]) -> str:
    """By what a use is known again: for people its title or files, for us every character of it and of what it is
    given. A title is cut and its white space is folded for people; a command may do its harm with just that part."""
    if kind in BY_PATH and paths:
        title, exact = ", ".join(paths), [kind, sorted(paths)]
    else:
        given: Any = {name: value for name, value in args.items() if name not in TALK}
        exact = [kind, title, given or _dict(body.get("result")).get("content"), sorted(paths)]
    digest = hashlib.sha256(msgspec.json.encode(exact, order="sorted")).hexdigest()
    return f"{kind}: {describe(title)} ({digest[:16]})"
