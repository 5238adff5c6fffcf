"""Declares the options that `bough session new`, `set` and the branching commands share, and parses their values."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated, Literal

import typer

from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import efforts, models, presets
from bough.api.cli.framework.terminal_safety import clean
from bough.model.file import LARGEST_FILE
from bough.model.session import MODES, PermissionMode

Mode = Annotated[
    PermissionMode | None,
    typer.Option("--mode", "-m", help=f"Permission mode: {', '.join(MODES)}."),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Start from this preset; other options count before it. See bough preset.",
        autocompletion=presets,
    ),
]
Title = Annotated[str | None, typer.Option("--title", "-t", help="Title.")]
Description = Annotated[str | None, typer.Option("--description", help="Description.")]
Model = Annotated[
    str | None, typer.Option("--model", help="Model ID; '' uses the agent's default.", autocompletion=models)
]
Effort = Annotated[
    str | None, typer.Option("--effort", help="Effort level; '' uses the agent's default.", autocompletion=efforts)
]
Headless = Annotated[
    Literal["wait", "deny", "allow", "server"] | None,
    typer.Option(
        "--headless",
        metavar="wait|deny|allow|server",
        help="Answer to approvals that nobody decides in time; server is the server's default.",
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        "--approval-timeout",
        metavar="MINUTES|server",
        help="Minutes that approvals wait before --headless answers them; server is the server's default.",
    ),
]
ResumeAfterLimit = Annotated[
    Literal["yes", "no", "server"] | None,
    typer.Option(
        "--resume-after-limit",
        metavar="yes|no|server",
        help="Whether a turn that a usage limit ended continues automatically; server is the server's default.",
    ),
]
SandboxChoice = Annotated[
    Literal["off", "auto", "required", "inherit"] | None,
    typer.Option(
        "--sandbox",
        metavar="off|auto|required|inherit",
        help="Whether the agent runs in a sandbox: auto if available, required always; inherit is the default.",
    ),
]
ProfileChoice = Annotated[
    Literal["workspace", "strict", "inherit"] | None,
    typer.Option(
        "--sandbox-profile",
        metavar="workspace|strict|inherit",
        help="Profile of the sandbox: workspace limits files, strict also limits hosts; inherit is the default.",
    ),
]
Env = Annotated[
    list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="Environment variable for the agent; repeatable.")
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="FILE", help="File in the session's folder that the agent should read; repeatable."
    ),
]

Files = Annotated[
    list[Path] | None,
    typer.Option("--file", metavar="PATH", help="Image or text file to attach to the prompt; repeatable."),
]


def parse_minutes(text: str | None) -> float | None:
    """Returns the minutes of a timeout; None for the server's default."""
    if text is None or text == "server":
        return None
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < float("inf"):
        raise typer.BadParameter("--approval-timeout must be a positive number of minutes, or server.")
    return minutes


def parse_choice(text: Literal["yes", "no", "server"] | None) -> bool | None:
    """Returns a choice between yes and no; None for the server's default."""
    return None if text is None or text == "server" else text == "yes"


def encode_files(paths: list[Path] | None) -> list[Json] | None:
    """Reads files and encodes them for a prompt."""
    if not paths:
        return None
    return [{"name": file.name, "data": base64.b64encode(_content(file)).decode()} for file in paths]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # One byte over the limit is enough for the server to refuse the file.
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise typer.BadParameter(f"Cannot read {clean(str(path))}: {error.strerror}.") from error


def parse_pairs(texts: list[str] | None, noun: str = "variable") -> dict[str, str] | None:
    """Parses NAME=VALUE texts. The error does not repeat a malformed text, because it may contain a secret."""
    if not texts:
        return None
    split = [text.partition("=") for text in texts]
    if any(not sign or not name for name, sign, _ in split):
        raise typer.BadParameter(f"Write a {noun} as NAME=VALUE.")
    return {name: value for name, _, value in split}


def merge_callback(
    current: Json, report: bool | None, last: bool | None, with_prompt: bool | None, instructions: str | None
) -> Json:
    """Returns the callback settings with the given changes; an empty text removes the instructions."""
    flags = {"enabled": report, "includeLastMessage": last, "includeOriginalPrompt": with_prompt}
    changed: Json = {name: value for name, value in flags.items() if value is not None}
    if instructions is not None:
        changed["extraInstructions"] = instructions or None
    return current | changed
