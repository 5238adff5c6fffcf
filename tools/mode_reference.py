"""Generates docs/reference/modes.md: what Bough answers in each mode, and what each agent does then. The answers come
from the policy itself; what agents ask about was measured."""

from __future__ import annotations

from bough.agents.catalog import CatalogEntry
from bough.core.policy.decide import OWN_SERVER, decide
from bough.model.session import PermissionMode
from bough.model.tool import Protection, ToolUse
from tools.agent_reference import entries

CWD = "/repo"
OUTSIDE = "/elsewhere/file"
GROUPS: tuple[tuple[str, PermissionMode], ...] = (
    ("`plan`", "plan"),
    ("`default`, `ask`", "default"),
    ("`acceptEdits`", "acceptEdits"),
    ("`auto`, `on-failure`", "auto"),
    ("`bypassPermissions`, `allow-all`", "bypassPermissions"),
)
"""Modes that grant the same, with one of each group."""
ACTS: dict[str, ToolUse] = {
    "edit a file in the folder": ToolUse(agent="", cwd=CWD, kind="edit", paths=(f"{CWD}/file",)),
    "run a simple command": ToolUse(agent="", cwd=CWD, kind="execute", command="echo hello"),
    "run a command that writes in the folder": ToolUse(agent="", cwd=CWD, kind="execute", command="touch file"),
    "run a command that writes elsewhere": ToolUse(agent="", cwd=CWD, kind="execute", command=f"touch {OUTSIDE}"),
    "run a command that uses the network": ToolUse(agent="", cwd=CWD, kind="execute", command="curl example.com"),
    "edit a file elsewhere": ToolUse(agent="", cwd=CWD, kind="edit", paths=(OUTSIDE,)),
    "read a file elsewhere": ToolUse(agent="", cwd=CWD, kind="read", paths=(OUTSIDE,)),
    "use a tool of an MCP server": ToolUse(agent="", cwd=CWD, kind="mcp", server="other", name="tool"),
}
# What policy alone decides about, beside those.
MORE_ACTS: dict[str, ToolUse] = {
    "edit a protected path": ToolUse(
        agent="", cwd=CWD, kind="edit", paths=(f"{CWD}/.git/config",), protected=(Protection("", "git"),)
    ),
    "touch Bough's data folder": ToolUse(
        agent="", cwd=CWD, kind="execute", command="cat token", protected=(Protection("", "data", never=True),)
    ),
    "run a command of over 64 kB": ToolUse(agent="", cwd=CWD, kind="execute", command="", unread=True),
    "change its own mode": ToolUse(agent="", cwd=CWD, kind="switch_mode"),
    "use a tool of Bough": ToolUse(agent="", cwd=CWD, kind="mcp", server=OWN_SERVER, name="tool"),
}
ANSWERS = {"allow": "allowed", "ask": "asked", "deny": "denied"}
# By agent and by its own mode: what it does about each act, in the order of `ACTS`. It asks (a), acts unasked (u), or
# refuses or has no tool for it (b). Measured with the settings that Bough starts the agent with;
# docs/reference/agent-measurements.md says how.
MEASURED: dict[str, dict[str, str]] = {
    "claude-code": {
        "plan": "aaaaaaaa",
        "default": "aaaaaaaa",
        "acceptEdits": "uuuaaaaa",
        "bypassPermissions": "uuuuuuuu",
    },
    "codex": {"permission-profile:boughro": "bubbbbua", "read-only": "aubbbaua", "workspace-write": "uuubbaua"},
    "copilot": {"plan": "babbabua", "agent": "aaaaaaua"},
    "gemini": {"plan": "bbbbbbbb", "default": "auaaabba"},
    "opencode": {"bough-plan": "bbbbbbbb", "bough-ask": "aaaaaaaa", "bough-bypass": "uuuuuuuu"},
    "qwen": {"plan": "bubbabab", "default": "aaaaaaaa"},
}
IN_PLAN = "**yes**, like all writing"
READS = "keys, other worktrees and Bough's data: **yes**; the rest: no"
SERVERS = "what a server that the agent starts does: as for commands; the rest: no"
SANDBOX: tuple[tuple[str, str], ...] = (
    ("no", IN_PLAN),
    ("no", "no"),
    ("no", IN_PLAN),
    ("**yes**", "**yes**"),
    ("no", "no"),
    ("**yes**", "**yes**"),
    (READS, READS),
    (SERVERS, SERVERS),
)
"""Whether the sandbox's profile `workspace` prevents each act, in the order of `ACTS`: in most modes, and in plan."""


def answers_table() -> str:
    """Lists what Bough answers in each mode when an agent asks and no rule or choice says otherwise."""
    rows = [f"| the agent asks to … | {' | '.join(title for title, _ in GROUPS)} |", "|---" * (len(GROUPS) + 1) + "|"]
    for act, use in (ACTS | MORE_ACTS).items():
        cells = (ANSWERS[decide(mode, use, [], []).effect] for _, mode in GROUPS)
        rows.append(f"| {act} | {' | '.join(cells)} |")
    return "\n".join(rows)


def agents_tables() -> str:
    """Lists for each agent what happens in each mode: it acts, a person is asked, or it is refused."""
    parts: list[str] = []
    for entry in entries():
        parts.append(f"**{entry.title}**\n")
        parts += [f"| | {' | '.join(title for title, _ in GROUPS)} |", "|---" * (len(GROUPS) + 1) + "|"]
        for number, act in enumerate(ACTS):
            cells = (outcome(entry, mode, number) for _, mode in GROUPS)
            parts.append(f"| {act} | {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts).rstrip()


def outcome(entry: CatalogEntry, mode: PermissionMode, number: int) -> str:
    """Returns what happens if an agent wants to do something in one of Bough's modes."""
    own = entry.mode(mode).mode.rpartition("#")[2]
    does = MEASURED[entry.name][own][number]
    if does != "a":
        return {"u": "runs", "b": "refused"}[does]
    use = list(ACTS.values())[number]
    effect = decide(mode, _as_agent(use, entry), [], []).effect
    return {"allow": "runs", "ask": "**asks**", "deny": "denied"}[effect]


def sandbox_table() -> str:
    """Lists what the operating system prevents, whatever the mode allows."""
    rows = ["| | prevented by `workspace` | prevented by `workspace` in mode `plan` |", "|---|---|---|"]
    rows += [f"| {act} | {' | '.join(prevented)} |" for act, prevented in zip(ACTS, SANDBOX, strict=True)]
    return "\n".join(rows)


def _as_agent(use: ToolUse, entry: CatalogEntry) -> ToolUse:
    return ToolUse(
        agent=entry.name,
        cwd=use.cwd,
        kind=use.kind,
        name=use.name,
        server=use.server,
        command=use.command,
        paths=use.paths,
        sandboxed=entry.quirks.sandboxed,
    )


SECTIONS = {"answers": answers_table, "agents": agents_tables, "sandbox": sandbox_table}
