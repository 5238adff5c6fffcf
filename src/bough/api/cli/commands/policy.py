"""`bough policy`: rules about uses of tools, what they come to, and choices that are remembered (P3). Answering a
question of the moment is `bough approval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bough.api.cli.commands.repo import Limit, Offset
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import agents, ids
from bough.api.cli.framework.formats import ago, brief, short, short_forms
from bough.model.rule import Effect, Scope
from bough.model.session import PermissionMode
from bough.model.tool import ToolKind

CONDITIONS = ("agent", "kind", "tool", "command", "path")
# More than any position: at the end.
LAST = 1_000_000

app = typer.Typer(no_args_is_help=True, help="What agents may do without asking, and what never.")


def conditions(rule: Json) -> str:
    """What a rule is about, in a line."""
    said = [f"{name} {rule[name]}" for name in CONDITIONS if rule[name] is not None]
    return brief(", ".join(said) or "everything", 300)


def _noted(rule: Json) -> str:
    return f"{conditions(rule)}{' — ' if rule['note'] else ''}{brief(rule['note'], 300)}"


def _label(rule: Json) -> str:
    return f"{rule['effect']} {conditions(rule)}"


RuleId = Annotated[
    str,
    typer.Argument(metavar="RULE", help="Its id, or 8 characters of it.", autocompletion=ids("policy/rules", _label)),
]
EffectArgument = Annotated[
    Effect, typer.Argument(metavar="allow|ask|deny", help="What is answered where the rule matches.")
]
Agent = Annotated[str | None, typer.Option("--agent", "-a", help="Only of this agent.", autocompletion=agents)]
Kind = Annotated[
    ToolKind | None,
    typer.Option("--kind", "-k", metavar="KIND", help=f"Only this kind of tool: {', '.join(get_args(ToolKind))}."),
]
Tool = Annotated[
    str | None,
    typer.Option("--tool", metavar="GLOB", help="Only tools of this name; SERVER/TOOL for those of MCP servers."),
]
Command = Annotated[
    str | None, typer.Option("--command", "-c", metavar="GLOB", help="Only command lines like this, such as 'git *'.")
]
InPath = Annotated[
    str | None,
    typer.Option("--path", metavar="GLOB", help="Only files like this: absolute, or below the session's folder."),
]
Note = Annotated[str | None, typer.Option("--note", help="Why; agents and people are told.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="policy")


@command(app, "list")
def list_rules(here: Here, limit: Limit = 100, offset: Offset = 0) -> None:
    """List rules in the order in which they are tried."""

    def render(page: Any) -> None:
        rows: list[Json] = page["rules"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("#", "ID", "EFFECT", "WHERE"),
            [(str(row["position"]), forms[row["id"]], row["effect"], _noted(row)) for row in rows],
            flexible="WHERE",
            empty="No rule: every question is answered by the session's mode, by what is remembered, or by you.",
        )
        output.more(page, len(rows))

    here.show(here.client.get("/api/policy/rules", limit=limit, offset=offset), render)


@command(app, "add")
def add(
    here: Here,
    effect: EffectArgument,
    agent: Agent = None,
    kind: Kind = None,
    tool: Tool = None,
    line: Command = None,
    file: InPath = None,
    note: Note = None,
    position: Annotated[
        int | None, typer.Option("--position", metavar="N", min=1, help="Where to put it; at the end if not said.")
    ] = None,
) -> None:
    """Add a rule; it counts from the next question on, in every session."""
    given = {"agent": agent, "kind": kind, "tool": tool, "command": line, "path": file, "note": note}
    body = {name: value for name, value in (given | {"position": position}).items() if value is not None}
    here.show(here.client.post("/api/policy/rules", {"effect": effect, **body}), _say_rule)


@command(app, "set")
def change(
    here: Here,
    rule: RuleId,
    effect: Annotated[
        Effect | None, typer.Option("--effect", metavar="allow|ask|deny", help="What is answered from now on.")
    ] = None,
    agent: Agent = None,
    kind: Annotated[
        str | None, typer.Option("--kind", "-k", metavar="KIND", help="Only this kind of tool; see bough policy add.")
    ] = None,
    tool: Tool = None,
    line: Command = None,
    file: InPath = None,
    note: Note = None,
) -> None:
    """Change a rule; an empty text takes a condition away."""
    given = {"agent": agent, "kind": kind, "tool": tool, "command": line, "path": file}
    body: Json = {name: value or None for name, value in given.items() if value is not None}
    body |= {name: value for name, value in (("effect", effect), ("note", note)) if value is not None}
    if not body:
        raise typer.BadParameter("Say what to change; see: bough policy set --help")
    here.show(here.client.patch(path("policy", "rules", rule), body), _say_rule)


@command(app, "move")
def move(
    here: Here,
    rule: RuleId,
    to: Annotated[str, typer.Argument(metavar="N|first|last", help="The position that it shall have.")],
) -> None:
    """Move a rule; the first rule that matches decides."""
    words = {"first": 1, "last": LAST}
    if to not in words and not to.isdecimal():
        raise typer.BadParameter(f"A position is a number, first or last, not {to!r}.")
    position = words.get(to) or int(to)
    here.show(here.client.patch(path("policy", "rules", rule), {"position": position}), _say_rule)


@command(app, "remove")
def remove(here: Here, rule: RuleId) -> None:
    """Remove a rule."""
    answer = here.client.delete(path("policy", "rules", rule))
    here.show(answer, lambda found: output.line(f"Rule {short(found['id'])} is removed: {_label(found)}"))


@command(app, "explain")
def explain(
    here: Here,
    session: Annotated[
        str | None,
        typer.Option(
            "--session", "-s", metavar="ID", help="As in this session.", autocompletion=ids("sessions", "title")
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="As of this agent.", autocompletion=agents)] = None,
    folder: Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="As in this folder.")] = None,
    mode: Annotated[PermissionMode | None, typer.Option("--mode", "-m", help="As in this mode.")] = None,
    kind: Annotated[
        ToolKind | None,
        typer.Option("--kind", "-k", metavar="KIND", help="The kind of tool; guessed from the rest if not said."),
    ] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="The tool's name.")] = None,
    server: Annotated[str | None, typer.Option("--server", metavar="NAME", help="The MCP server it is of.")] = None,
    line: Annotated[str | None, typer.Option("--command", "-c", metavar="LINE", help="The command line.")] = None,
    files: Annotated[
        list[str] | None, typer.Option("--path", metavar="FILE", help="A file that it touches; repeat.")
    ] = None,
) -> None:
    """Tell how a question would be answered now, why, and which rules were looked at. Nothing is asked or done."""
    if not (kind or tool or server or line or files):
        raise typer.BadParameter("Say what an agent would do: --command, --path, --tool, --server or --kind.")
    cwd = str(Path(folder).expanduser().absolute()) if folder else None
    given = {"sessionId": session, "agent": agent, "cwd": cwd, "permissionMode": mode, "kind": kind, "tool": tool}
    given |= {"server": server, "command": line, "paths": files or None}
    body = {name: value for name, value in given.items() if value is not None}
    here.show(here.client.post("/api/policy/explain", body), _say_explained)


@command(app, "choices")
def list_choices(
    here: Here,
    scope: Annotated[
        Scope | None,
        typer.Option("--scope", metavar="session|worktree|everywhere", help="Only those that reach this far."),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session", "-s", metavar="ID", help="Only those that reach it.", autocompletion=ids("sessions", "title")
        ),
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List what is allowed because somebody said always, newest first."""

    def render(page: Any) -> None:
        rows: list[Json] = page["choices"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "COUNTS IN", "AGENT", "KIND", "SAID", "WHAT"),
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
            flexible="WHAT",
            empty="Nothing is remembered.",
        )
        output.more(page, len(rows))

    query: Json = {"scope": scope, "sessionId": session, "limit": limit, "offset": offset}
    here.show(here.client.get("/api/policy/choices", **query), render)


@command(app, "forget")
def forget(
    here: Here,
    choice: Annotated[
        str,
        typer.Argument(
            metavar="CHOICE", help="Its id, or 8 characters of it.", autocompletion=ids("policy/choices", "title")
        ),
    ],
) -> None:
    """Forget a choice: the next time it is asked again."""
    answer = here.client.delete(path("policy", "choices", choice))
    here.show(answer, lambda found: output.line(f"Forgotten, and asked again from now on: {brief(found['title'])}"))


def _reach(choice: Json) -> str:
    if choice["scope"] == "session":
        return f"session {short(choice['sessionId'])}"
    return f"folder {brief(Path(choice['cwd']).name, 20)}" if choice["scope"] == "worktree" else "every session"


def _say_rule(rule: Json) -> None:
    output.line(f"Rule {short(rule['id'])} at {rule['position']}: {_label(rule)}")


def _say_explained(found: Json) -> None:
    output.line(found["effect"], "bold")
    output.line(found["reason"])
    rows: list[Json] = found["considered"]
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
