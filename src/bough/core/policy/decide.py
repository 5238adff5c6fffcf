"""Decides whether a tool use is allowed, asked about or denied, by rules, remembered choices and the session's mode
(P3). Pure: `decide_for_session` fetches the rules and choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from bough.core.policy import globs, patterns
from bough.model.rule import Choice, Effect, Rule
from bough.model.session import RANK, PermissionMode
from bough.model.tool import ToolUse

OWN_SERVER = "bough"
"""The MCP server of Bough itself, whose tools ask by themselves where it matters (5d)."""
# Kinds that work on files. A use that names no file may still be what a path rule is about.
OF_FILES = frozenset({"read", "search", "edit", "delete", "move"})
# Kinds that affect everything inside a folder.
TAKES_ALONG = frozenset({"delete", "move"})
REACH = {"session": "in this session", "worktree": "in this folder", "everywhere": "everywhere"}


class Verdict(msgspec.Struct, frozen=True):
    """The decision, what it follows from, and a sentence that explains it."""

    effect: Effect
    by: Literal["rule", "choice", "mode"]
    id: str | None
    reason: str


def decide(mode: PermissionMode, use: ToolUse, rules: Sequence[Rule], choices: Sequence[Choice]) -> Verdict:
    """Decides about one tool use. `rules` are in order and the first match counts; `choices` are those that apply
    to the session.

    - A rule that denies is final in every mode; so is the protection of Bough's data folder.
    - Writing the agent's own list of steps is allowed in every mode, unless a rule asks.
    - In mode `plan`, only that and Bough's own tools are allowed, whatever rules and choices say; leaving the mode is
      asked.
    - Otherwise a rule that allows, allows; a protected path only if the rule spells its name.
    - A rule that asks, or no rule, gives way to a remembered choice.
    - What remains is up to the mode."""
    rule, sure = first(rules, use)
    if rule is not None and sure and rule.effect == "deny":
        return Verdict("deny", "rule", rule.id, f"{named(rule)} denies this.")
    if use.protected and use.protected[0].never:
        hit = use.protected[0]
        return Verdict("deny", "mode", None, f"No mode lets an agent into {hit.what}: {hit.path}")
    if use.server == OWN_SERVER:
        return Verdict("allow", "mode", None, "Bough's own tools ask by themselves where it matters.")
    if use.own_plan and (rule is None or rule.effect == "allow"):
        return Verdict("allow", "mode", None, "This only writes the agent's own list of steps.")
    if use.kind == "switch_mode":
        return _switch(mode, rule)
    if mode == "plan":
        return Verdict("deny", "mode", None, "Mode plan allows reading only; nobody is asked.")
    allows = rule is not None and rule.effect == "allow"
    if rule is not None and allows and not use.unread and _spells(rule, use):
        return Verdict("allow", "rule", rule.id, f"{named(rule)} allows this.")
    choice = next((item for item in choices if use.key and item.key == use.key and item.agent == use.agent), None)
    if choice is not None:
        reason = f"A person always allowed exactly this, {REACH[choice.scope]} (choice {short(choice.id)})."
        return Verdict("allow", "choice", choice.id, reason)
    if rule is not None and not allows:
        reason = f"{named(rule)} requires approval."
        if not sure:
            of_server = use.unsure_server and (rule.kind == "mcp" or "/" in (rule.tool or ""))
            unsaid = "server" if of_server else "command" if rule.command is not None else "files"
            reason = f"{named(rule)} may be about this: the agent does not say which {unsaid} it means."
        return Verdict("ask", "rule", rule.id, reason)
    if use.unread:
        return Verdict("ask", "mode", None, "The command is too long to be checked: a person is asked in every mode.")
    return _by_mode(mode, use)


def short(id: str) -> str:
    """Returns the end of an id, which differs even among siblings created together (R5)."""
    return id[-8:]


# Rules


def first(rules: Sequence[Rule], use: ToolUse) -> tuple[Rule | None, bool]:
    """Returns the first matching rule, and whether it certainly matches. A rule that asks or denies by command or path
    counts as asking if the agent does not say which, unless the next match certainly denies."""
    unsure = None
    for rule in rules:
        matched = matches(rule, use)
        if matched is True and (unsure is None or rule.effect == "deny"):
            return rule, True
        if matched is True:
            break
        if matched is None:
            unsure = unsure or rule
    return unsure, unsure is None


def matches(rule: Rule, use: ToolUse) -> bool | None:
    """Tells whether a rule applies to a use; None if that cannot be known. A rule that allows must match in every
    part."""
    if rule.agent is not None and rule.agent != use.agent:
        return False
    results = [
        _kind(rule, use) if rule.kind is not None else True,
        _tool(rule, use) if rule.tool is not None else True,
        _command(rule, use) if rule.command is not None else True,
        _path(rule, use) if rule.path is not None else True,
    ]
    if False in results:
        return False
    return None if None in results else True


def _kind(rule: Rule, use: ToolUse) -> bool | None:
    if rule.kind == "mcp" and use.unsure_server and rule.effect != "allow":
        return None
    return rule.kind == use.kind


def _tool(rule: Rule, use: ToolUse) -> bool | None:
    """Matches the tool's name. Tools of MCP servers are called SERVER/TOOL, so that a server cannot imitate another
    tool."""
    pattern, allows = rule.tool or "", rule.effect == "allow"
    if use.server is not None and globs.matches(pattern, f"{use.server}/{use.name}"):
        return True
    if (use.server is None or not allows) and globs.matches(pattern, use.name):
        return True
    return None if use.unsure_server and "/" in pattern and not allows else False


def _command(rule: Rule, use: ToolUse) -> bool | None:
    """Matches the command. A rule that allows applies only to commands that run: another tool may have a similar
    argument."""
    pattern = rule.command or ""
    if use.unread:
        return False if rule.effect == "allow" else None
    if rule.effect == "allow":
        runs = use.kind == "execute" and use.command is not None
        return runs and patterns.command_allowed(pattern, use.command or "")
    if use.command is None:
        return None if use.kind == "execute" else False
    return patterns.command_touched(pattern, use.command)


def _path(rule: Rule, use: ToolUse) -> bool | None:
    """Matches the paths. A rule that allows applies to tools that work on files and must cover every resolved path; one
    that asks or denies matches any path, also as spelled, and everything moved or deleted with a folder."""
    pattern = rule.path or ""
    if rule.effect == "allow":
        named = use.kind in OF_FILES and bool(use.paths)
        return named and all(patterns.path_matches(pattern, path, use.cwd) for path in use.paths)
    named = (*use.paths, *use.named)
    if any(patterns.path_matches(pattern, path, use.cwd) for path in named):
        return True
    if use.kind in TAKES_ALONG and any(
        patterns.path_holds(pattern, path, use.cwd, folder=path in use.folders) for path in named
    ):
        return True
    return None if use.many or (use.kind in OF_FILES and not use.paths) else False


def _spells(rule: Rule, use: ToolUse) -> bool:
    """Tells whether a rule that allows is meant for every protected path of a use: its path or command spells the name
    that protects it, or is exactly the command."""
    if rule.command is not None and rule.command.strip() == (use.command or "").strip():
        return True
    text = f"{rule.path or ''} {rule.command or ''}".casefold()
    return all(any(name in text for name in hit.spelled) for hit in use.protected)


def named(rule: Rule) -> str:
    """Returns a rule's name for people: its note, or its conditions."""
    parts = [rule.effect, *(part for part in (rule.agent, rule.kind, rule.tool, rule.command, rule.path) if part)]
    return f"Rule {rule.note.strip() or ' '.join(parts)!r} ({short(rule.id)})"


# Modes


def _switch(mode: PermissionMode, rule: Rule | None) -> Verdict:
    """Decides about a change of the agent's own mode, which is never allowed beforehand unless everything is."""
    if mode == "plan":
        reason = "The agent wants to leave mode plan. If this is allowed, the session's mode becomes default."
        return Verdict("ask", "mode", None, reason)
    if RANK[mode] == RANK["allow-all"] and (rule is None or rule.effect == "allow"):
        return Verdict("allow", "mode", None, f"Mode {mode} allows everything.")
    return Verdict("ask", "mode", None, "The agent wants to change its own mode; that is always asked.")


def _by_mode(mode: PermissionMode, use: ToolUse) -> Verdict:
    if RANK[mode] == RANK["allow-all"]:
        if use.sandboxed and _leaves_sandbox(use):
            return Verdict("ask", "mode", None, f"Mode {mode} keeps this agent in its sandbox; this would leave it.")
        return Verdict("allow", "mode", None, f"Mode {mode} allows everything.")
    if use.protected:
        hit = use.protected[0]
        return Verdict(
            "ask", "mode", None, f"Mode {mode} requires approval before anything touches {hit.what}: {hit.path}"
        )
    if use.kind != "edit" or RANK[mode] < RANK["acceptEdits"]:
        return Verdict("ask", "mode", None, f"Mode {mode} requires approval before this.")
    if not use.paths:
        return Verdict(
            "ask", "mode", None, f"Mode {mode} requires approval before edits of files that the agent does not name."
        )
    for path in use.paths:
        if not below(path, use.cwd):
            reason = f"Mode {mode} requires approval before edits outside the session's folder: {path}"
            return Verdict("ask", "mode", None, reason)
    return Verdict("allow", "mode", None, f"Mode {mode} allows edits in the session's folder.")


def _leaves_sandbox(use: ToolUse) -> bool:
    """Tells whether a use needs more than the sandbox allows: commands inside it do not ask."""
    if use.kind == "mcp":
        return False
    inside = not use.protected and all(below(path, use.cwd) for path in use.paths)
    return use.kind not in OF_FILES or not use.paths or not inside


def below(path: str, folder: str) -> bool:
    """Tells whether a resolved path is inside a resolved folder and not the folder itself."""
    odd = "\0" in path or ".." in path.split("/")
    return not odd and path != folder and path.startswith(folder.rstrip("/") + "/")
