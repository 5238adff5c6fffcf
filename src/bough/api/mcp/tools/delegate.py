"""The tools that give work to sessions: prompting one, in any of four ways, and spawning a child of one's own (5a).
What comes of it is `core.branching` and `core.tasks`; opening separate sessions is `session_tools`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp.tools.base import Changing, Desk, Tool
from bough.api.mcp.tools.phrases import Agent, Id, named, quote
from bough.core.sessions.requests import check_choice, check_texts
from bough.core.state.enqueue import checked_prompt
from bough.core.trees.branch import Branch, Branched
from bough.errors import Invalid
from bough.model.call import Claim
from bough.model.session import CallbackConfig, PermissionMode

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
    permission_mode: Annotated[PermissionMode | None, Meta(description="Inherited if left out.")] = None
    title: str | None = None
    task_id: Annotated[str | None, Meta(description="fork: begins after this task.")] = None
    callback: Annotated[bool | None, Meta(description="subsession: whether it reports back (default true).")] = None


class ModelConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    model: str | None = None
    effort: str | None = None


class Spawn(Changing):
    prompt: str
    title: str | None = None
    agentic_tool: Agent = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="Inherited if left out.")] = None
    model_config: ModelConfig | None = None
    mcp_server_ids: list[str] | None = None
    task_id: Annotated[str | None, Meta(description="Your task that this belongs to.")] = None
    enable_callback: Annotated[bool, Meta(description="Report each finished task to you (default true).")] = True
    include_last_message: Annotated[bool, Meta(description="Default true.")] = True
    include_original_prompt: Annotated[bool, Meta(description="Default false.")] = False
    extra_instructions: Annotated[str | None, Meta(description="Appended to its report to you.")] = None
    worktree_id: Annotated[str | None, Meta(description="Work there instead of in your folder.")] = None


# Prompting


async def _prompt_claim(desk: Desk, wanted: Prompt) -> Claim:
    _check_prompt(wanted)
    _check_work(desk, wanted.prompt, wanted.agentic_tool, wanted.title)
    target = await desk.services.sessions.get(wanted.session_id)
    if wanted.task_id is not None:
        await _check_task(desk, wanted.task_id, target.id)
    itself = target.id == desk.caller.id
    who = "itself" if itself else f"session {named(target)}"
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
    if wanted.task_id is not None and wanted.mode not in ("fork", "subsession"):
        raise Invalid("bad_arguments", "taskId says where a new session branches off: use it with mode fork.")
    if wanted.callback and wanted.mode in ("continue", "fork"):
        raise Invalid(
            "bad_arguments",
            "Only a subsession reports back: use callback with mode subsession, or wait for the task with "
            "agor_sessions_wait.",
        )


def _check_work(desk: Desk, prompt: str, agent: str | None, title: str | None) -> None:
    """What can never be done is refused before anybody is asked about it."""
    checked_prompt(prompt, desk.services.settings.max_prompt)
    check_texts(title or "", "")
    if agent is not None:
        desk.services.catalog.get(agent)


async def _check_task(desk: Desk, task_id: str, session_id: str) -> None:
    task = await desk.services.tasks.get(task_id)
    if task.session_id != session_id:
        raise Invalid(
            "task_of_other_session",
            f"Task {task.id} belongs to session {task.session_id}. See agor_tasks_list for those of {session_id}.",
        )


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
        # A child begins afresh, whichever task it belongs to.
        task_id=wanted.task_id if wanted.mode == "fork" else None,
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

INSTEAD = "Use agor_sessions_prompt with mode subsession and the sessionId of the parent."


async def _spawn_claim(desk: Desk, wanted: Spawn) -> Claim:
    me = await desk.me(INSTEAD)
    _check_work(desk, wanted.prompt, wanted.agentic_tool, wanted.title)
    tuned = wanted.model_config or ModelConfig()
    check_choice("modelConfig.model", tuned.model)
    check_choice("modelConfig.effort", tuned.effort)
    if wanted.task_id is not None:
        await _check_task(desk, wanted.task_id, me.id)
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
    me = await desk.me(INSTEAD)
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


def _ids(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


BRANCHED = _ids("sessionId", "taskId")
PROMPTED = BRANCHED | {"properties": {"success": {"type": "boolean"}, **BRANCHED["properties"]}}

PROMPT: Tool[Prompt] = Tool(
    "agor_sessions_prompt",
    "Give work to a session: continue it, fork it, spawn a child of it, or ask it aside.",
    Prompt,
    PROMPTED,
    _prompt,
    _prompt_claim,
    "change",
)
SPAWN: Tool[Spawn] = Tool(
    "agor_sessions_spawn",
    "Delegate to a child session. It works beside you; its report comes to you as a prompt when it is done.",
    Spawn,
    BRANCHED,
    _spawn,
    _spawn_claim,
    "change",
)
