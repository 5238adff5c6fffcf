"""Policy: whether a use of a tool is allowed, asked about or denied, by rules, remembered choices and the session's
mode (P3). Pure; reading a use is `tool_use`, fetching rules and choices and acting on a verdict is `judging`."""

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
# Kinds that work on files: one that does not say on which may be what a rule about paths is about.
OF_FILES = frozenset({"read", "search", "edit", "delete", "move"})
# Kinds that do to all that is in a folder what they do to it.
TAKES_ALONG = frozenset({"delete", "move"})
REACH = {"session": "in this session", "worktree": "in this folder", "everywhere": "everywhere"}


class Verdict(msgspec.Struct, frozen=True):
    """What follows, from what, and why in a sentence for people."""

    effect: Effect
    by: Literal["rule", "choice", "mode"]
    id: str | None
    reason: str


def decide(mode: PermissionMode, use: ToolUse, rules: Sequence[Rule], choices: Sequence[Choice]) -> Verdict:
    """What becomes of a use. `rules` are in order and the first that matches counts; `choices` reach the session.

    A rule that denies is final in every mode. In mode `plan` nothing is allowed, whatever rules and choices say, but
    Bough's own tools; leaving the mode is asked of a person. Otherwise a rule that allows allows; one that asks, or
    none, gives way to a remembered choice; what is left is the mode's.
    """
    rule, sure = first(rules, use)
    if rule is not None and sure and rule.effect == "deny":
        return Verdict("deny", "rule", rule.id, f"{named(rule)} denies this.")
    if use.server == OWN_SERVER:
        return Verdict("allow", "mode", None, "Bough's own tools ask by themselves where it matters.")
    if mode == "plan":
        if use.kind == "switch_mode":
            reason = "The agent wants to leave mode plan. If this is allowed, the session's mode becomes default."
            return Verdict("ask", "mode", None, reason)
        return Verdict("deny", "mode", None, "Mode plan allows reading only; nobody is asked.")
    if use.kind == "switch_mode":
        return _switch(mode, rule)
    if rule is not None and rule.effect == "allow":
        return Verdict("allow", "rule", rule.id, f"{named(rule)} allows this.")
    choice = next((item for item in choices if use.key and item.key == use.key and item.agent == use.agent), None)
    if choice is not None:
        reason = f"A person has said always to exactly this, {REACH[choice.scope]} (choice {short(choice.id)})."
        return Verdict("allow", "choice", choice.id, reason)
    if rule is not None:
        reason = f"{named(rule)} has a person asked."
        if not sure:
            of_server = use.unsure_server and (rule.kind == "mcp" or "/" in (rule.tool or ""))
            unsaid = "server" if of_server else "command" if rule.command is not None else "files"
            reason = f"{named(rule)} may be about this: the agent does not say which {unsaid} it means."
        return Verdict("ask", "rule", rule.id, reason)
    return _by_mode(mode, use)


def short(id: str) -> str:
    """An id as people are shown it: its end, which differs even among siblings born together (R5)."""
    return id[-8:]


# Rules


def first(rules: Sequence[Rule], use: ToolUse) -> tuple[Rule | None, bool]:
    """The first rule that matches, and whether it surely does. One that asks or denies about commands or paths that
    the agent does not tell is taken to ask, unless what would count without it surely denies."""
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
    """Whether a rule is about a use; None if that cannot be known. What would allow must match in every part."""
    if rule.agent is not None and rule.agent != use.agent:
        return False
    found = [
        _kind(rule, use) if rule.kind is not None else True,
        _tool(rule, use) if rule.tool is not None else True,
        _command(rule, use) if rule.command is not None else True,
        _path(rule, use) if rule.path is not None else True,
    ]
    if False in found:
        return False
    return None if None in found else True


def _kind(rule: Rule, use: ToolUse) -> bool | None:
    if rule.kind == "mcp" and use.unsure_server and rule.effect != "allow":
        return None
    return rule.kind == use.kind


def _tool(rule: Rule, use: ToolUse) -> bool | None:
    """Tools of MCP servers are called SERVER/TOOL: nobody is tricked by a server whose tool is named like another."""
    pattern, allows = rule.tool or "", rule.effect == "allow"
    if use.server is not None and globs.matches(pattern, f"{use.server}/{use.name}"):
        return True
    if (use.server is None or not allows) and globs.matches(pattern, use.name):
        return True
    return None if use.unsure_server and "/" in pattern and not allows else False


def _command(rule: Rule, use: ToolUse) -> bool | None:
    """What allows is about commands that are run: any other tool may have an argument that looks like one."""
    pattern = rule.command or ""
    if rule.effect == "allow":
        runs = use.kind == "execute" and use.command is not None
        return runs and patterns.command_allowed(pattern, use.command or "")
    if use.command is None:
        return None if use.kind == "execute" else False
    return patterns.command_touched(pattern, use.command)


def _path(rule: Rule, use: ToolUse) -> bool | None:
    """What allows is about tools that work on files, and must cover every path, as it really is; what asks or denies
    meets any, also as it was named, and what is deleted or moved along with a folder."""
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


def named(rule: Rule) -> str:
    """A rule for people: its note, or what it is about."""
    parts = [rule.effect, *(part for part in (rule.agent, rule.kind, rule.tool, rule.command, rule.path) if part)]
    return f"Rule {rule.note.strip() or ' '.join(parts)!r} ({short(rule.id)})"


# Modes


def _switch(mode: PermissionMode, rule: Rule | None) -> Verdict:
    """A change of the agent's own mode is never allowed beforehand, unless everything is."""
    if RANK[mode] == RANK["allow-all"] and (rule is None or rule.effect == "allow"):
        return Verdict("allow", "mode", None, f"Mode {mode} allows everything.")
    return Verdict("ask", "mode", None, "The agent wants to change its own mode; that is always asked.")


def _by_mode(mode: PermissionMode, use: ToolUse) -> Verdict:
    if RANK[mode] == RANK["allow-all"]:
        if use.sandboxed and _leaves_sandbox(use):
            return Verdict("ask", "mode", None, f"Mode {mode} keeps this agent in its sandbox; this would leave it.")
        return Verdict("allow", "mode", None, f"Mode {mode} allows everything.")
    if use.kind != "edit" or RANK[mode] < RANK["acceptEdits"]:
        return Verdict("ask", "mode", None, f"Mode {mode} asks before this.")
    if not use.paths:
        return Verdict("ask", "mode", None, f"Mode {mode} asks before edits of files that the agent does not name.")
    for path in use.paths:
        if not below(path, use.cwd):
            reason = f"Mode {mode} asks before edits outside the session's folder: {path}"
            return Verdict("ask", "mode", None, reason)
        if path in use.protected:
            reason = f"Mode {mode} asks before edits of git's or an agent's own settings: {path}"
            return Verdict("ask", "mode", None, reason)
    return Verdict("allow", "mode", None, f"Mode {mode} allows edits in the session's folder.")


def _leaves_sandbox(use: ToolUse) -> bool:
    """Whether a use that is asked about needs more than the sandbox lets through: commands within it do not ask."""
    if use.kind == "mcp":
        return False
    inside = all(below(path, use.cwd) and path not in use.protected for path in use.paths)
    return use.kind not in OF_FILES or not use.paths or not inside


def below(path: str, folder: str) -> bool:
    """Whether a resolved path lies in a resolved folder, and is not the folder itself."""
    odd = "\0" in path or ".." in path.split("/")
    return not odd and path != folder and path.startswith(folder.rstrip("/") + "/")
