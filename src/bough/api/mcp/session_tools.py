"""The tools that make, prompt and change sessions (5a). Each says what it will do in a sentence for people, and does it
through the same services as every other door; reading is `reading_tools`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp import results
from bough.api.mcp.tool import Changing, Desk, Tool
from bough.core.branching import Branch, Branched
from bough.core.marking import Mark
from bough.core.sessions import NewSession, SessionPatch
from bough.errors import Invalid, NotFound
from bough.model.call import Claim
from bough.model.session import CallbackConfig, PermissionMode, Session, default_mode

LONGEST_QUOTE = 60

Id = Annotated[str, Meta(description="Id or unique prefix.")]
Agent = Annotated[str | None, Meta(description="claude-code, codex, gemini, opencode …; inherited if left out.")]
Prompted = Literal["continue", "fork", "subsession", "btw"]


class Prompt(Changing):
    session_id: Id
    prompt: str
    mode: Annotated[
        Prompted,
        Meta(
            description="continue: queue it there. fork: a sibling that knows the conversation. subsession: a child "
            "that starts fresh and reports back. btw: a read-only question aside."
        ),
    ]
    agentic_tool: Agent = None
    permission_mode: PermissionMode | None = None
    title: str | None = None
    task_id: Annotated[str | None, Meta(description="fork: after this task.")] = None
    callback: Annotated[bool | None, Meta(description="subsession: whether it reports back (default true).")] = None


class Create(Changing):
    worktree_id: Annotated[str, Meta(description="Where to work; a repository's own folder by its repo_id.")]
    agentic_tool: str
    title: str | None = None
    description: str | None = None
    permission_mode: PermissionMode | None = None
    context_files: list[str] | None = None
    mcp_server_ids: list[str] | None = None
    initial_prompt: Annotated[str | None, Meta(description="Starts work at once.")] = None
    enable_callback: Annotated[bool, Meta(description="Report each finished task to you.")] = False


class ModelConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    model: str | None = None
    effort: str | None = None


class Spawn(Changing):
    prompt: str
    title: str | None = None
    agentic_tool: Agent = None
    permission_mode: PermissionMode | None = None
    model_config: ModelConfig | None = None
    mcp_server_ids: list[str] | None = None
    task_id: Annotated[str | None, Meta(description="Your task that this belongs to.")] = None
    enable_callback: bool = True
    include_last_message: bool = True
    include_original_prompt: bool = False
    extra_instructions: Annotated[str | None, Meta(description="Appended to its report to you.")] = None
    worktree_id: Annotated[str | None, Meta(description="Work there instead of in your folder.")] = None


class Update(Changing):
    session_id: Id
    title: str | None = None
    description: str | None = None
    status: Annotated[Mark | None, Meta(description="Of yourself: takes effect when your turn ends.")] = None
    permission_mode: PermissionMode | None = None


class Stop(Changing):
    session_id: Id
    expected_task_id: Annotated[str | None, Meta(description="Only if this task runs.")] = None


# Prompting


async def _prompt_claim(desk: Desk, wanted: Prompt) -> Claim:
    _check_prompt(wanted)
    target = await desk.services.sessions.get(wanted.session_id)
    itself = target.id == desk.caller.id
    who = "itself" if itself else f"session {_name(target)}"
    if wanted.mode == "continue":
        return Claim(title=f"Prompt {who}: {quote(wanted.prompt)}?", target=target.id, commands=True)
    mode: PermissionMode = "plan" if wanted.mode == "btw" else wanted.permission_mode or target.permission_mode
    agent = wanted.agentic_tool or target.agent
    what = {"fork": f"Fork {who}", "subsession": f"Spawn a child of {who}", "btw": f"Ask {who} aside"}[wanted.mode]
    title = f"{what} with {agent} in mode {mode}: {quote(wanted.title or wanted.prompt)}?"
    return Claim(title=title, target=target.id, inherits=not itself, mode=mode, agent=agent)


def _check_prompt(wanted: Prompt) -> None:
    if wanted.mode == "continue" and (wanted.agentic_tool or wanted.permission_mode or wanted.title):
        raise Invalid(
            "bad_arguments",
            "agenticTool, permissionMode and title are of a new session: use mode fork or subsession, or "
            "agor_sessions_update to change this one.",
        )
    if wanted.task_id is not None and wanted.mode != "fork":
        raise Invalid("bad_arguments", "taskId says where a fork begins: use it with mode fork.")
    if wanted.callback is not None and wanted.mode != "subsession":
        raise Invalid("bad_arguments", "Only a subsession reports back: use callback with mode subsession.")


async def _prompt(desk: Desk, wanted: Prompt) -> dict[str, Any]:
    services, caller = desk.services, desk.caller
    if wanted.mode == "continue":
        task = await services.tasks.prompt(caller, wanted.session_id, wanted.prompt, resume=True)
        return {"success": True, "taskId": task.id}
    branch = Branch(
        prompt=wanted.prompt,
        title=wanted.title,
        agent=wanted.agentic_tool,
        permission_mode=None if wanted.mode == "btw" else wanted.permission_mode,
        task_id=wanted.task_id,
        callback=None if wanted.callback is None else CallbackConfig(enabled=wanted.callback),
    )
    make = {
        "fork": services.branching.fork,
        "subsession": services.branching.spawn,
        "btw": services.branching.aside,
    }[wanted.mode]
    return _branched(await make(caller, wanted.session_id, branch))


def _branched(made: Branched) -> dict[str, Any]:
    return {"sessionId": made.session_id, "taskId": made.task_id}


# Spawning


async def _spawn_claim(desk: Desk, wanted: Spawn) -> Claim:
    me = await desk.me()
    if wanted.task_id is not None and (await desk.services.tasks.get(wanted.task_id)).session_id != me.id:
        raise Invalid("task_of_other_session", "taskId is one of your own tasks: see agor_tasks_list.")
    mode = wanted.permission_mode or me.permission_mode
    agent = wanted.agentic_tool or me.agent
    place = ""
    repo: str | None = None
    if wanted.worktree_id is not None:
        worktree = await desk.services.worktrees.get(wanted.worktree_id)
        place, repo = f" in {worktree.path}", worktree.repo_id
    title = f"Spawn a child with {agent} in mode {mode}{place}: {quote(wanted.title or wanted.prompt)}?"
    servers = tuple(wanted.mcp_server_ids or ())
    return Claim(title=title, target=me.id, mode=mode, agent=agent, servers=servers, repo=repo)


async def _spawn(desk: Desk, wanted: Spawn) -> dict[str, Any]:
    me = await desk.me()
    tuned = wanted.model_config or ModelConfig()
    branch = Branch(
        prompt=wanted.prompt,
        title=wanted.title,
        agent=wanted.agentic_tool,
        permission_mode=wanted.permission_mode,
        model=tuned.model,
        effort=tuned.effort,
        mcp_server_ids=wanted.mcp_server_ids,
        worktree_id=wanted.worktree_id,
        callback=CallbackConfig(
            enabled=wanted.enable_callback,
            include_last_message=wanted.include_last_message,
            include_original_prompt=wanted.include_original_prompt,
            extra_instructions=wanted.extra_instructions,
        ),
    )
    return _branched(await desk.services.branching.spawn(desk.caller, me.id, branch))


# Opening


async def _place(desk: Desk, text: str) -> tuple[str, str, str | None]:
    """Repository, path and worktree of where a session is to work."""
    try:
        worktree = await desk.services.worktrees.get(text)
    except NotFound:
        try:
            repo = await desk.services.repos.get(text)
        except NotFound:
            message = f"There is no worktree {text!r}. See agor_worktrees_list, or make one with agor_worktrees_create."
            raise NotFound("worktree_not_found", message) from None
        return repo.id, repo.path, None
    return worktree.repo_id, worktree.path, worktree.id


async def _create_claim(desk: Desk, wanted: Create) -> Claim:
    repo, path, _ = await _place(desk, wanted.worktree_id)
    mode = _mode(wanted)
    named = f" {wanted.title.strip()!r}" if wanted.title and wanted.title.strip() else ""
    title = f"Create session{named} in {path} with {wanted.agentic_tool} in mode {mode}?"
    servers = tuple(wanted.mcp_server_ids or ())
    return Claim(title=title, mode=mode, agent=wanted.agentic_tool, servers=servers, repo=repo)


def _mode(wanted: Create) -> PermissionMode:
    return wanted.permission_mode or default_mode(wanted.agentic_tool)


async def _create(desk: Desk, wanted: Create) -> results.Created:
    repo, _, worktree = await _place(desk, wanted.worktree_id)
    opened = await desk.services.worktree_sessions.create(
        desk.caller,
        NewSession(
            repo_id=repo if worktree is None else None,
            worktree_id=worktree,
            agent=wanted.agentic_tool,
            title=wanted.title or "",
            description=wanted.description or "",
            permission_mode=_mode(wanted),
            context_files=wanted.context_files or [],
            mcp_server_ids=wanted.mcp_server_ids or [],
            initial_prompt=wanted.initial_prompt,
            callback=CallbackConfig(enabled=wanted.enable_callback),
        ),
    )
    return results.Created(**results.fields(opened.session, []), taskId=opened.task_id)


# Changing


async def _update_claim(desk: Desk, wanted: Update) -> Claim:
    target = await desk.services.sessions.get(wanted.session_id)
    parts = [
        f"{name} to {quote(value)}"
        for name, value in (
            ("the title", wanted.title),
            ("the description", wanted.description),
            ("the status", wanted.status),
            ("the mode", wanted.permission_mode),
        )
        if value is not None
    ]
    if not parts:
        raise Invalid("nothing_to_change", "Give at least one of title, description, status, permissionMode.")
    who = "itself" if target.id == desk.caller.id else f"session {_name(target)}"
    return Claim(title=f"Change {who}: {', '.join(parts)}?", target=target.id, mode=wanted.permission_mode)


async def _update(desk: Desk, wanted: Update) -> results.SessionResult:
    services = desk.services
    changes: dict[str, Any] = {
        name: value
        for name in ("title", "description", "permission_mode")
        if (value := getattr(wanted, name)) is not None
    }
    if changes:
        await services.sessions.patch(wanted.session_id, SessionPatch(**changes))
    if wanted.status is not None:
        await services.marking.mark(desk.caller, wanted.session_id, wanted.status)
    return await results.session(services, await services.sessions.get(wanted.session_id))


async def _stop_claim(desk: Desk, wanted: Stop) -> Claim:
    target = await desk.services.sessions.get(wanted.session_id)
    if target.id == desk.caller.id:
        raise Invalid("stops_itself", "You would stop yourself: end your turn instead.")
    return Claim(title=f"Stop what session {_name(target)} does?", target=target.id)


async def _stop(desk: Desk, wanted: Stop) -> Any:
    stopped = await desk.services.control.stop(desk.caller, wanted.session_id, wanted.expected_task_id)
    if stopped.task is None:
        return {"session_id": stopped.session.id, "status": "idle"}
    return (await results.tasks(desk.services, [stopped.task]))[0]


def _name(session: Session) -> str:
    return repr(session.title) if session.title else session.id


def quote(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…")


STARTED = {
    "type": "object",
    "properties": {"success": {"type": "boolean"}, "sessionId": {"type": "string"}, "taskId": {"type": "string"}},
}

TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_sessions_prompt",
        "Give work to a session: continue it, fork it, spawn a child of it, or ask it aside.",
        Prompt,
        STARTED,
        _prompt,
        _prompt_claim,
        "change",
    ),
    Tool(
        "agor_sessions_create",
        "Open a new, separate session in a worktree.",
        Create,
        results.SESSION,
        _create,
        _create_claim,
        "change",
    ),
    Tool(
        "agor_sessions_spawn",
        "Delegate to a child session. It works beside you; its report comes to you as a prompt when it is done.",
        Spawn,
        STARTED,
        _spawn,
        _spawn_claim,
        "change",
    ),
    Tool(
        "agor_sessions_update",
        "Change a session's title, description, status or permission mode.",
        Update,
        results.SESSION,
        _update,
        _update_claim,
        "change",
        repeatable=True,
    ),
    Tool(
        "agor_sessions_stop",
        "Stop the turn that runs in a session.",
        Stop,
        {"type": "object", "properties": {"task_id": {"type": "string"}, "status": {"type": "string"}}},
        _stop,
        _stop_claim,
        "end",
        repeatable=True,
    ),
)
