"""Reads a `ToolUse` out of what an agent says about a tool call. Agents word this differently; the catalog holds each
agent's vocabulary. A use that stays unclear gets the kind `other`, which asks a person."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, cast, get_args

import msgspec

from bough.agents.catalog import Catalog
from bough.agents.catalog.entry import Quirks
from bough.agents.catalog.tool_vocabulary import ToolVocabulary
from bough.core.policy.decide import OF_FILES, OWN_SERVER, TAKES_ALONG
from bough.core.policy.find_protected_paths import NamedPaths, protections
from bough.core.policy.patterns import SHELLS
from bough.core.policy.protected_paths import ProtectionContext, absolute, resolved
from bough.core.policy.tool_use.json_values import Json, as_dict, as_dicts, field_at, texts_in
from bough.core.policy.tool_use.mcp_tool import mcp_tool
from bough.core.policy.tool_use.same_action import action_key, describe
from bough.git.decode import escaped
from bough.model.tool import ToolKind, ToolUse

KINDS: tuple[ToolKind, ...] = get_args(ToolKind)
# Every file is looked up on disk, so a use that names more of them is of kind `other`.
MOST_PATHS = 200
LONGEST_PATH = 4096
# Arguments that agents usually put commands, files and patches in; an agent's vocabulary adds to them.
COMMAND_ARGUMENTS = ("command", "cmd", "fullCommandText")
PATH_ARGUMENTS = frozenset(
    {"file_path", "filePath", "filepath", "path", "fileName", "filename", "file", "notebook_path", "absolute_path"}
    | {"abs_path", "dir_path", "old_path", "new_path", "oldPath", "newPath", "source", "destination", "paths", "files"}
)
PATCH_ARGUMENTS = ("diff", "patch", "patchText", "input")
_PATCHED = re.compile(
    r"^(?:Index: |\+\+\+ |--- |rename (?:from|to) |\*\*\* (?:(?:Add|Update|Delete) File|Move to): )(.+?)(?:\t.*)?$",
    re.MULTILINE,
)


def read(
    catalog: Catalog, agent: str, cwd: str, body: Json, servers: Sequence[str] = (), worktrees: Sequence[str] = ()
) -> ToolUse:
    """Reads a tool use from a folded tool call: everything the agent said about it before and with its question.

    `servers` are the names of the MCP servers that the session was given, `worktrees` the folders of all worktrees.
    Looks at files, which may be slow.
    """
    entry = catalog.entry(agent)
    vocabulary = entry.tools if entry is not None else ToolVocabulary()
    quirks = entry.quirks if entry is not None else Quirks()
    home = os.path.realpath(cwd)
    title = str(body.get("title") or "")
    arguments = as_dict(body.get("args"))
    kind: ToolKind = body["kind"] if body.get("kind") in KINDS and body["kind"] != "mcp" else "other"
    tool_name = _tool_name(vocabulary, body)
    name = tool_name or _name_in_id(vocabulary, body) or kind
    kind = vocabulary.kinds.get(name, kind)
    mcp = mcp_tool(vocabulary.mcp, body, name, title, servers)
    command = None
    paths: list[str] = []
    if mcp.server is not None:
        kind, name = "mcp", mcp.name
    elif mcp.unclear:
        kind = "other"
    else:
        if name in quirks.mode_tools:
            kind = "switch_mode"
        # An argument of a tool of another kind is not a command it runs or a file it works on.
        if kind in ("execute", "other"):
            command = _command(vocabulary, kind, title, arguments)
        if kind == "other" or kind in OF_FILES:
            paths = list(dict.fromkeys(_paths(vocabulary, body, arguments)))
    # The name may come from an id that a model's service chose, so everything else must fit too.
    nothing_else = kind in ("other", "think") and command is None and not paths
    own_plan = name in vocabulary.plans and mcp.server is None and not mcp.unclear and nothing_else
    if own_plan:
        kind = "think"
    strings = tuple(islice(_strings(arguments), MOST_PATHS)) if kind == "mcp" and mcp.server != OWN_SERVER else ()
    many = len(paths) > MOST_PATHS
    if many:
        kind = "other"
    named = tuple(dict.fromkeys(absolute(home, path) for path in paths[:MOST_PATHS]))
    resolved_paths = tuple(dict.fromkeys(resolved(path) for path in named))
    known = frozenset(resolved_paths)
    folders = tuple(path for path in resolved_paths if kind in TAKES_ALONG and _is_folder(path))
    context = ProtectionContext.of(catalog.data, worktrees, home, catalog)
    protected, unread = protections(context, NamedPaths(kind, (*named, *resolved_paths), folders, strings, command))
    may_be_mcp = mcp.unclear or (kind == "other" and not (vocabulary.mcp.recognized or tool_name))
    mcp_title = f"{mcp.server}/{name}" if mcp.server else ""
    return ToolUse(
        agent=agent,
        cwd=home,
        kind=kind,
        name=name,
        server=mcp.server,
        command=command,
        paths=tuple(map(escaped, resolved_paths)),
        named=tuple(path for path in named if path not in known),
        folders=tuple(map(escaped, folders)),
        protected=tuple(msgspec.structs.replace(hit, path=escaped(hit.path)) for hit in protected),
        unread=unread,
        many=many,
        sandboxed=quirks.sandboxed,
        own_plan=own_plan,
        unsure_server=mcp.server is None and may_be_mcp,
        title=describe(mcp_title or title or name or kind),
        key=action_key(kind, mcp_title or title, arguments, body, resolved_paths, protected),
    )


def call(body: Json) -> Json:
    """Returns a folded tool call in the words of ACP, to show it with the question."""
    result = as_dict(body.get("result"))
    fields = {
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
    return {name: value for name, value in fields.items() if value}


# Names


def _tool_name(vocabulary: ToolVocabulary, body: Json) -> str:
    """Returns the name that the agent's program gives the tool; empty if it gives none."""
    meta = as_dict(body.get("meta"))
    names: list[Any] = [*(field_at(meta, path) for path in vocabulary.name_meta), body.get("name")]
    return str(next((name for name in names if name), ""))


def _name_in_id(vocabulary: ToolVocabulary, body: Json) -> str:
    mark = vocabulary.name_ends_id_at
    return str(body.get("toolCallId") or "").partition(mark)[0] if mark else ""


# Commands and paths


def _command(vocabulary: ToolVocabulary, kind: str, title: str, arguments: Json) -> str | None:
    for name in (*COMMAND_ARGUMENTS, *vocabulary.command_arguments):
        value: Any = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and texts_in(value) == value:
            return _joined(texts_in(value))
    is_whole = bool(title) and not title.rstrip().endswith(("…", "..."))
    return title if kind == "execute" and vocabulary.command_in_title and is_whole else None


def _joined(words: list[str]) -> str:
    """Returns a command line from words; of a shell with `-c` it is the script."""
    if len(words) == 3 and os.path.basename(words[0]) in SHELLS and words[1] in ("-c", "-lc", "-ic", "-lic"):
        return words[2]
    return shlex.join(words)


def _paths(vocabulary: ToolVocabulary, body: Json, arguments: Json) -> Iterator[str]:
    """Yields every file that a call names anywhere."""
    path_arguments = PATH_ARGUMENTS.union(vocabulary.path_arguments)
    for location in as_dicts(body.get("locations")):
        yield from texts_in(location.get("path"))
    for block in as_dicts(as_dict(body.get("result")).get("content")):
        if block.get("type") == "diff":
            yield from texts_in(block.get("path"))
    for name, value in arguments.items():
        if name in path_arguments:
            yield from texts_in(value)
    changes = arguments.get("changes")
    yield from as_dict(changes)
    for changed in as_dicts(changes):
        for name in path_arguments:
            yield from texts_in(changed.get(name))
    for name in (*PATCH_ARGUMENTS, *vocabulary.patch_arguments):
        for patch in texts_in(arguments.get(name)):
            yield from _patched(vocabulary, patch)


def _patched(vocabulary: ToolVocabulary, patch: str) -> Iterator[str]:
    """Yields the files that a patch names."""
    for match in _PATCHED.findall(patch):
        path = str(match).strip().strip('"')
        if path in ("/dev/null", "a/dev/null"):
            continue
        if path[:2] in ("a/", "b/"):
            path = path[1:] if vocabulary.absolute_patch_paths else path[2:]
        yield path


def _strings(value: Any, depth: int = 4) -> Iterator[str]:
    """Yields the texts in a tool's arguments that may be paths."""
    if isinstance(value, str):
        if 0 < len(value) <= LONGEST_PATH and "/" in value and "\0" not in value:
            yield value
    elif depth and isinstance(value, dict | list):
        items = cast("Json", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        for item in items:
            yield from _strings(item, depth - 1)


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except (OSError, ValueError):
        return False
