"""The options that opening, changing and branching a session have in common, and reading those that are more than a
word. What is done with them is `sessions` and `branches`; which MCP servers there are is `mcp`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated, Literal

import typer

from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import clean
from bough.model.file import LARGEST_FILE
from bough.model.session import MODES, PermissionMode

Mode = Annotated[
    PermissionMode | None, typer.Option("--mode", "-m", help=f"What it may do without asking: {', '.join(MODES)}.")
]
Title = Annotated[str | None, typer.Option("--title", "-t", help="What it is about.")]
Description = Annotated[str | None, typer.Option("--description", help="More about it.")]
Model = Annotated[str | None, typer.Option("--model", help="Model, as the agent names it.")]
Effort = Annotated[str | None, typer.Option("--effort", help="Effort, as the agent names it.")]
Unanswered = Annotated[
    Literal["wait", "deny", "allow", "server"] | None,
    typer.Option(
        "--headless",
        metavar="wait|deny|allow|server",
        help="What becomes of questions that nobody answers in time; server leaves it to the server's setting.",
    ),
]
Env = Annotated[list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="Variable for the agent; repeat.")]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="FILE", help="File that the agent is given to read, in the session's folder; repeat."
    ),
]

Given = Annotated[
    list[Path] | None,
    typer.Option("--file", metavar="PATH", help="Picture or text that goes with the prompt; repeat."),
]


def given_files(paths: list[Path] | None) -> list[Json] | None:
    """Files of this machine as a prompt carries them."""
    if not paths:
        return None
    return [{"name": one.name, "data": base64.b64encode(_content(one)).decode()} for one in paths]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # One byte more than the server takes is enough for it to say so.
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise typer.BadParameter(f"{clean(str(path))} cannot be read: {error.strerror}.") from error


def pairs(given: list[str] | None, what: str = "variable") -> dict[str, str] | None:
    """What was given as NAME=VALUE. Values are secret, so nothing of a wrong one is told: it may be one."""
    if not given:
        return None
    split = [one.partition("=") for one in given]
    if any(not sign or not name for name, sign, _ in split):
        raise typer.BadParameter(f"A {what} is written NAME=VALUE.")
    return {name: value for name, _, value in split}


def reports(
    known: Json, report: bool | None, last: bool | None, with_prompt: bool | None, instructions: str | None
) -> Json:
    """What a child reports to its parent: what is known, with what was said about it; an empty text is none."""
    given = {"enabled": report, "includeLastMessage": last, "includeOriginalPrompt": with_prompt}
    changed: Json = {name: value for name, value in given.items() if value is not None}
    if instructions is not None:
        changed["extraInstructions"] = instructions or None
    return known | changed
