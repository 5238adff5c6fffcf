"""`bough policy`: edits the rules about tool uses, explains their decisions, and lists and forgets "always" choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import agents, ids, session_option
from bough.api.cli.framework.formats import ago, brief, short, short_forms
from bough.api.cli.framework.selectors import SESSION
from bough.api.cli.repos.repo import Limit, Offset
from bough.model.rule import Effect, Scope
from bough.model.session import PermissionMode
from bough.model.tool import ToolKind

CONDITIONS = ("agent", "kind", "tool", "command", "path")
# Larger than any position, so it means the end of the list.
LAST = 1_000_000

app = typer.Typer(no_args_is_help=True, help="Rules about what agents may do, must ask for, and may never do.")


def conditions(rule: Json) -> str:
    """Describes a rule's conditions on one line."""
    texts = [f"{name} {rule[name]}" for name in CONDITIONS if rule[name] is not None]
    return brief(", ".join(texts) or "everything", 300)


def _with_note(rule: Json) -> str:
    return f"{conditions(rule)}{' — ' if rule['note'] else ''}{brief(rule['note'], 300)}"


def _label(rule: Json) -> str:
    return f"{rule['effect']} {conditions(rule)}"


RuleId = Annotated[
    str,
    typer.Argument(metavar="RULE", help="Rule id, or 8 characters of it.", autocompletion=ids("policy/rules", _label)),
]
EffectArgument = Annotated[Effect, typer.Argument(metavar="allow|ask|deny", help="Answer where the rule matches.")]
Agent = Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent.", autocompletion=agents)]
Kind = Annotated[
    ToolKind | None,
    typer.Option("--kind", "-k", metavar="KIND", help=f"Only this kind of tool: {', '.join(get_args(ToolKind))}."),
]
Tool = Annotated[
    str | None,
    typer.Option("--tool", metavar="GLOB", help="Only tools with this name; SERVER/TOOL for tools of MCP servers."),
]
Command = Annotated[
    str | None, typer.Option("--command", "-c", metavar="GLOB", help="Only matching command lines, such as 'git *'.")
]
InPath = Annotated[
    str | None,
    typer.Option("--path", metavar="GLOB", help="Only matching files: absolute, or relative to the session's folder."),
]
Note = Annotated[str | None, typer.Option("--note", help="Reason, shown to agents and people.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="policy")


@command(app, "list")
def list_rules(ctx: CommandContext, limit: Limit = 100, offset: Offset = 0) -> None:
    """List rules in the order in which they are checked."""

    def render(page: Any) -> None:
        rows: list[Json] = page["rules"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("#", "ID", "EFFECT", "WHERE"),
            [(str(row["position"]), forms[row["id"]], row["effect"], _with_note(row)) for row in rows],
            flexible="WHERE",
            empty='No rules. The session\'s mode, your "always" choices or you decide every request.',
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get("/api/policy/rules", limit=limit, offset=offset), render)


@command(app, "add")
def add(
    ctx: CommandContext,
    effect: EffectArgument,
    agent: Agent = None,
    kind: Kind = None,
    tool: Tool = None,
    line: Command = None,
    file: InPath = None,
    note: Note = None,
    position: Annotated[
        int | None, typer.Option("--position", metavar="N", min=1, help="Position in the list; defaults to the end.")
    ] = None,
) -> None:
    """Add a rule; it applies to all sessions from the next request on."""
    fields = {"agent": agent, "kind": kind, "tool": tool, "command": line, "path": file, "note": note}
    body = {name: value for name, value in (fields | {"position": position}).items() if value is not None}
    ctx.show(ctx.client.post("/api/policy/rules", {"effect": effect, **body}), _print_rule)


@command(app, "set")
def change(
    ctx: CommandContext,
    rule: RuleId,
    effect: Annotated[Effect | None, typer.Option("--effect", metavar="allow|ask|deny", help="New answer.")] = None,
    agent: Agent = None,
    kind: Annotated[
        str | None, typer.Option("--kind", "-k", metavar="KIND", help="Only this kind of tool; see bough policy add.")
    ] = None,
    tool: Tool = None,
    line: Command = None,
    file: InPath = None,
    note: Note = None,
) -> None:
    """Change a rule; an empty text removes a condition."""
    fields = {"agent": agent, "kind": kind, "tool": tool, "command": line, "path": file}
    body: Json = {name: value or None for name, value in fields.items() if value is not None}
    body |= {name: value for name, value in (("effect", effect), ("note", note)) if value is not None}
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough policy set --help")
    ctx.show(ctx.client.patch(path("policy", "rules", rule), body), _print_rule)


@command(app, "move")
def move(
    ctx: CommandContext,
    rule: RuleId,
    to: Annotated[str, typer.Argument(metavar="N|first|last", help="New position.")],
) -> None:
    """Move a rule; the first rule that matches decides."""
    words = {"first": 1, "last": LAST}
    if to not in words and not to.isdecimal():
        raise typer.BadParameter(f"A position is a number, first or last, not {to!r}.")
    position = words.get(to) or int(to)
    ctx.show(ctx.client.patch(path("policy", "rules", rule), {"position": position}), _print_rule)


@command(app, "remove")
def remove(ctx: CommandContext, rule: RuleId) -> None:
    """Remove a rule."""
    answer = ctx.client.delete(path("policy", "rules", rule))
    ctx.show(answer, lambda removed: output.line(f"Rule {short(removed['id'])} is removed: {_label(removed)}"))


@command(app, "explain")
def explain(
    ctx: CommandContext,
    session: Annotated[str | None, SESSION, session_option("Decide as in this session.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Decide as for this agent.", autocompletion=agents)
    ] = None,
    folder: Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="Decide as in this folder.")] = None,
    mode: Annotated[PermissionMode | None, typer.Option("--mode", "-m", help="Decide as in this mode.")] = None,
    kind: Annotated[
        ToolKind | None,
        typer.Option("--kind", "-k", metavar="KIND", help="Kind of tool; inferred from the other options by default."),
    ] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Name of the tool.")] = None,
    server: Annotated[str | None, typer.Option("--server", metavar="NAME", help="MCP server of the tool.")] = None,
    line: Annotated[str | None, typer.Option("--command", "-c", metavar="LINE", help="Command line.")] = None,
    files: Annotated[
        list[str] | None, typer.Option("--path", metavar="FILE", help="File that it touches; repeatable.")
    ] = None,
) -> None:
    """Explain how a tool use would be decided now, why, and which rules were checked. Nothing is run."""
    if not (kind or tool or server or line or files):
        raise typer.BadParameter("Describe the tool use: --command, --path, --tool, --server or --kind.")
    cwd = str(Path(folder).expanduser().absolute()) if folder else None
    fields = {"sessionId": session, "agent": agent, "cwd": cwd, "permissionMode": mode, "kind": kind, "tool": tool}
    fields |= {"server": server, "command": line, "paths": files or None}
    body = {name: value for name, value in fields.items() if value is not None}
    ctx.show(ctx.client.post("/api/policy/explain", body), _print_explained)


@command(app, "choices")
def list_choices(
    ctx: CommandContext,
    scope: Annotated[
        Scope | None,
        typer.Option("--scope", metavar="session|worktree|everywhere", help="Only choices with this scope."),
    ] = None,
    session: Annotated[str | None, SESSION, session_option("Only choices that apply to this session.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List the actions that somebody has always allowed, newest first."""

    def render(page: Any) -> None:
        rows: list[Json] = page["choices"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "APPLIES TO", "AGENT", "KIND", "CHOSEN", "ACTION"),
            [
                (
                    forms[row["id"]],
                    _reach(row),
                    row["agent"],
                    brief(row["toolKind"], 20),
                    ago(row["createdAt"]),
                    brief(row["title"], 300),
                )
                for row in rows
            ],
            flexible="ACTION",
            empty="No always-allowed actions.",
        )
        output.more(page, len(rows))

    query: Json = {"scope": scope, "sessionId": session, "limit": limit, "offset": offset}
    ctx.show(ctx.client.get("/api/policy/choices", **query), render)


@command(app, "forget")
def forget(
    ctx: CommandContext,
    choice: Annotated[
        str,
        typer.Argument(
            metavar="CHOICE", help="Choice id, or 8 characters of it.", autocompletion=ids("policy/choices", "title")
        ),
    ],
) -> None:
    """Forget a choice; the agent asks again next time."""
    answer = ctx.client.delete(path("policy", "choices", choice))
    ctx.show(
        answer, lambda forgotten: output.line(f"Forgotten; agents ask again from now on: {brief(forgotten['title'])}")
    )


def _reach(choice: Json) -> str:
    if choice["scope"] == "session":
        return f"session {short(choice['sessionId'])}"
    return f"folder {brief(Path(choice['cwd']).name, 20)}" if choice["scope"] == "worktree" else "every session"


def _print_rule(rule: Json) -> None:
    output.line(f"Rule {short(rule['id'])} at {rule['position']}: {_label(rule)}")


def _print_explained(decision: Json) -> None:
    output.line(decision["effect"], "bold")
    output.line(decision["reason"])
    rows: list[Json] = decision["considered"]
    if not rows:
        return
    forms = short_forms([row["ruleId"] for row in rows])
    output.line("")
    output.table(
        ("#", "RULE", "EFFECT", "MATCHES", "WHY"),
        [
            (
                str(row["position"]),
                forms[row["ruleId"]],
                row["effect"],
                "yes" if row["matched"] else "no",
                brief(row["why"], 500),
            )
            for row in rows
        ],
        flexible="WHY",
        empty="",
    )
