"""`bough session new`: creates a session, and its worktree if one is named."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from bough.api.cli.commands.mcp import Mcp, resolve_mcp_option
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, CommandContext
from bough.api.cli.framework.client import ANSWER_WITHIN, SETUP_WITHIN, Json
from bough.api.cli.framework.completion import agents, names
from bough.api.cli.framework.formats import short
from bough.api.cli.framework.selectors import WORKTREE, find
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import forgotten_if_refused, known_repos, open_folder
from bough.api.cli.session.make_room import MakeRoom, note_made_room
from bough.api.cli.session.options import (
    Context,
    Description,
    Effort,
    Env,
    Files,
    Headless,
    Mode,
    Model,
    Preset,
    ProfileChoice,
    ResumeAfterLimit,
    SandboxChoice,
    Timeout,
    Title,
    encode_files,
    parse_choice,
    parse_minutes,
    parse_pairs,
)
from bough.api.cli.session.prompt import Follow, follow_session, read_text


def new(
    ctx: CommandContext,
    repo: Annotated[
        str,
        typer.Option(
            "--repo", "-r", metavar="PATH|NAME|ID", autocompletion=names("repo"), help="Repo or folder to work in."
        ),
    ] = ".",
    worktree: Annotated[
        str | None, typer.Option("--worktree", "-w", metavar="BRANCH", help="Work in a new worktree on this branch.")
    ] = None,
    existing: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="WORKTREE", help="Work in this existing worktree.", autocompletion=names("worktree")
        ),
    ] = None,
    directories: Annotated[
        list[Path] | None,
        typer.Option("--add-dir", metavar="DIR", help="Another folder in which the agent works; repeatable."),
    ] = None,
    subfolder: Annotated[
        str | None, typer.Option("--folder", metavar="PATH", help="Work in this folder of the repo or worktree.")
    ] = None,
    preset: Preset = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Agent; see bough agents.", autocompletion=agents)
    ] = None,
    title: Title = None,
    description: Description = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    context: Context = None,
    env: Env = None,
    headless: Headless = None,
    timeout: Timeout = None,
    resume_after_limit: ResumeAfterLimit = None,
    sandbox: SandboxChoice = None,
    profile: ProfileChoice = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="First prompt; - reads it from standard input.")
    ] = None,
    file: Files = None,
    confirm_folder: Annotated[
        bool,
        typer.Option(
            "--confirm-folder", help="Work there even if the folder contains Bough's data folder or belongs to git."
        ),
    ] = False,
    make_room: MakeRoom = True,
    follow: Follow = False,
) -> int:
    """Create a session; a new folder is registered as a repo."""
    if follow and prompt is None:
        raise typer.BadParameter("--follow needs a --prompt.")
    if file and prompt is None:
        raise typer.BadParameter("--file needs a --prompt.")
    text = read_text(prompt) if prompt is not None else None
    fields: Json = {"agent": agent, "title": title, "description": description, "permissionMode": mode, "model": model}
    fields |= {
        "preset": preset,
        "effort": effort,
        "env": parse_pairs(env),
        "initialPrompt": text,
        "files": encode_files(file),
    }
    fields |= {"mcpServerIds": resolve_mcp_option(ctx.client, mcp), "contextFiles": context or None}
    fields |= {"headless": None if headless == "server" else headless, "folder": subfolder}
    fields["approvalTimeout"] = parse_minutes(timeout)
    fields["additionalDirectories"] = [os.path.abspath(path.expanduser()) for path in directories or []] or None
    fields["resumeAfterLimit"] = parse_choice(resume_after_limit)
    fields["sandbox"] = None if sandbox == "inherit" else sandbox
    fields["sandboxProfile"] = None if profile == "inherit" else profile
    body: Json = {name: value for name, value in fields.items() if value is not None}
    if existing is not None and worktree is not None:
        raise typer.BadParameter(
            "Use either --worktree, which creates a worktree, or --in, which names an existing one."
        )
    known: Collection[str] = ()
    if existing is not None:
        body["worktreeId"] = find(ctx.client, WORKTREE, existing)
    else:
        known = known_repos(ctx.client).values()
        body = open_folder(ctx.client, repo, whole=worktree is not None) | body
    if worktree is not None:
        body["worktree"] = {"branch": worktree}
    if confirm_folder:
        body["confirmFolder"] = True
    if make_room:
        body["makeRoom"] = True
    cursor = stream.now(ctx.client) if follow else 0
    with forgotten_if_refused(ctx.client, body.get("repoId"), known):
        answer = ctx.client.post("/api/sessions", body, SETUP_WITHIN if worktree else ANSWER_WITHIN)
    created: Json = answer.value
    for warning in created.get("warnings", []):
        output.note(f"Warning: {warning}")
    note_made_room(created)
    if follow:
        if not ctx.json:
            output.note(f"Session {short(created['id'])} ({created['agent']}, {created['permissionMode']}).")
        return follow_session(ctx, created["id"], created["taskId"], cursor)
    ctx.show(answer, _print_created)
    return DONE


def _print_created(session: Json) -> None:
    short_id = short(session["id"])
    output.line(f"Session {short_id}: {session['agent']}, {session['permissionMode']}, in {clean(session['cwd'])}")
    hint = f"bough session watch {short_id}" if session["taskId"] else f"bough session prompt {short_id} -f TEXT"
    output.note(f"Next: {hint}")
