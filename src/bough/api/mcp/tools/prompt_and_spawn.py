"""Tools that give work to sessions: prompting, forking, asking a side question, and spawning a child."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp.tools.base import ChangingParams, Tool, ToolContext
from bough.api.mcp.tools.presets import expected_preset, with_preset
from bough.api.mcp.tools.shared_wording import STOP_TOOL, WHEN_WORDS, Agent, Id, PresetName, check_when, named, quote
from bough.core.sessions.requests import check_choice, check_texts
from bough.core.state.enqueue import checked_prompt
from bough.core.trees.branch import Branched
from bough.core.trees.requests import NewBranch
from bough.errors import Invalid
from bough.model.call import Claim
from bough.model.session import CallbackConfig, PermissionMode
from bough.model.task import When

Prompted = Literal["continue", "fork", "subsession", "btw"]


class PromptSession(ChangingParams):
    session_id: Id
    prompt: str
    mode: Annotated[
        Prompted,
        Meta(
            description="continue: queue it. fork: a copy with the conversation. subsession: a child "
            "without context that reports back. btw: a read-only question."
        ),
    ]
    agentic_tool: Agent = None
    preset: PresetName = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="Inherited by default.")] = None
    title: str | None = None
    task_id: Annotated[str | None, Meta(description="fork: start after this task.")] = None
    callback: Annotated[bool | None, Meta(description="subsession: reports back (default true).")] = None
    when: Annotated[When, Meta(description="continue: now: into its turn. after_stop: stop that first.")] = "next"


class ModelConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    model: str | None = None
    effort: str | None = None


class Spawn(ChangingParams):
    prompt: str
    title: str | None = None
    agentic_tool: Agent = None
    preset: PresetName = None
    permission_mode: Annotated[PermissionMode | None, Meta(description="Inherited by default.")] = None
    model_config: ModelConfig | None = None
    mcp_server_ids: list[str] | None = None
    task_id: Annotated[str | None, Meta(description="Your task that this is part of.")] = None
    enable_callback: Annotated[bool, Meta(description="Reports to you (default true).")] = True
    include_last_message: Annotated[bool, Meta(description="Default true.")] = True
    include_original_prompt: Annotated[bool, Meta(description="Default false.")] = False
    extra_instructions: Annotated[str | None, Meta(description="The form of its report, told to the child.")] = None
    worktree_id: Annotated[str | None, Meta(description="Work there instead of in your folder.")] = None


# Prompting


async def _prompt_claim(ctx: ToolContext, params: PromptSession) -> Claim:
    _check_prompt(params)
    _check_work(ctx, params.prompt, params.agentic_tool, params.title)
    target = await ctx.services.sessions.get(params.session_id)
    if params.task_id is not None:
        await _check_task(ctx, params.task_id, target.id)
    itself = target.id == ctx.caller.id
    subject = "itself" if itself else f"session {named(target)}"
    if params.mode == "continue":
        check_when(ctx.caller.id, target.id, params.when)
        title = f"Prompt {subject}{WHEN_WORDS[params.when]}: {quote(params.prompt)}?"
        also = (STOP_TOOL,) if params.when == "after_stop" else ()
        return Claim(title=title, target=target.id, commands=True, also=also)
    branch = await ctx.services.branches.filled_in(_branch(params))
    _check_work(ctx, params.prompt, branch.agent, params.title)
    mode: PermissionMode = "plan" if params.mode == "btw" else branch.permission_mode or target.permission_mode
    agent = branch.agent or target.agent
    action = {
        "fork": f"Fork {subject}",
        "subsession": f"Spawn a child of {subject}",
        "btw": f"Ask a side question to {subject}",
    }[params.mode]
    title = f"{action} with {agent} in mode {mode}: {quote(params.title or params.prompt)}?"
    return with_preset(Claim(title=title, target=target.id, inherits=not itself, mode=mode, agent=agent), branch)


def _check_prompt(params: PromptSession) -> None:
    if params.mode == "continue" and any((params.agentic_tool, params.preset, params.permission_mode, params.title)):
        raise Invalid(
            "bad_arguments",
            "agenticTool, preset, permissionMode and title apply to new sessions: use mode fork or subsession, or "
            "agor_sessions_update to change this one.",
        )
    if params.when != "next" and params.mode != "continue":
        raise Invalid("bad_arguments", "when says how a prompt reaches a running session: use it with mode continue.")
    if params.task_id is not None and params.mode not in ("fork", "subsession"):
        raise Invalid("bad_arguments", "taskId says where a fork starts: use it with mode fork.")
    if params.callback and params.mode in ("continue", "fork"):
        raise Invalid(
            "bad_arguments",
            "Only a subsession reports back: use callback with mode subsession, or wait for the task with "
            "agor_sessions_wait.",
        )


def _check_work(ctx: ToolContext, prompt: str, agent: str | None, title: str | None) -> None:
    """Raises `Invalid` for work that can never be done, before anybody is asked to approve it."""
    checked_prompt(prompt, ctx.services.settings.max_prompt)
    check_texts(title or "", "")
    if agent is not None:
        ctx.services.catalog.get(agent)


async def _check_task(ctx: ToolContext, task_id: str, session_id: str) -> None:
    task = await ctx.services.tasks.get(task_id)
    if task.session_id != session_id:
        raise Invalid(
            "task_of_other_session",
            f"Task {task.id} belongs to session {task.session_id}. See agor_tasks_list for those of {session_id}.",
        )


async def _prompt(ctx: ToolContext, params: PromptSession) -> dict[str, Any]:
    services, caller = ctx.services, ctx.caller
    if params.mode == "continue":
        task = await services.resuming.prompt(
            caller, params.session_id, params.prompt, resume=True, make_room=None, when=params.when
        )
        return {"success": True, "taskId": task.id}
    branch_as = {
        "fork": services.branches.fork,
        "subsession": services.branches.spawn,
        "btw": services.branches.side_question,
    }[params.mode]
    expected = expected_preset(ctx)
    return _branched(await branch_as(caller, params.session_id, _branch(params), expected_preset=expected))


def _branch(params: PromptSession) -> NewBranch:
    return NewBranch(
        prompt=params.prompt,
        title=params.title,
        preset=params.preset,
        agent=params.agentic_tool,
        permission_mode=None if params.mode == "btw" else params.permission_mode,
        # A child starts with no context, whichever task it is part of.
        task_id=params.task_id if params.mode == "fork" else None,
        callback=None if params.callback is None else CallbackConfig(enabled=params.callback),
    )


def _branched(created: Branched) -> dict[str, Any]:
    return {"sessionId": created.session_id, "taskId": created.task_id}


# Spawning

INSTEAD = "Use agor_sessions_prompt with mode subsession and the sessionId of the parent."


async def _spawn_claim(ctx: ToolContext, params: Spawn) -> Claim:
    own = await ctx.own_session(INSTEAD)
    branch = await ctx.services.branches.filled_in(_child(params))
    _check_work(ctx, params.prompt, branch.agent, params.title)
    model_config = params.model_config or ModelConfig()
    check_choice("modelConfig.model", model_config.model)
    check_choice("modelConfig.effort", model_config.effort)
    if params.task_id is not None:
        await _check_task(ctx, params.task_id, own.id)
    mode = branch.permission_mode or own.permission_mode
    agent = branch.agent or own.agent
    location = ""
    repo: str | None = None
    if params.worktree_id is not None:
        worktree = await ctx.services.worktrees.get(params.worktree_id)
        location, repo = f" in {worktree.path}", worktree.repo_id
    title = f"Spawn a child with {agent} in mode {mode}{location}: {quote(params.title or params.prompt)}?"
    servers = tuple(params.mcp_server_ids or ())
    claim = Claim(title=title, target=own.id, mode=mode, agent=agent, servers=servers, repo=repo)
    return with_preset(claim, branch)


async def _spawn(ctx: ToolContext, params: Spawn) -> dict[str, Any]:
    own = await ctx.own_session(INSTEAD)
    expected = expected_preset(ctx)
    return _branched(await ctx.services.branches.spawn(ctx.caller, own.id, _child(params), expected_preset=expected))


def _child(params: Spawn) -> NewBranch:
    model_config = params.model_config or ModelConfig()
    return NewBranch(
        prompt=params.prompt,
        title=params.title,
        preset=params.preset,
        agent=params.agentic_tool,
        permission_mode=params.permission_mode,
        model=model_config.model,
        effort=model_config.effort,
        mcp_server_ids=params.mcp_server_ids,
        worktree_id=params.worktree_id,
        callback=CallbackConfig(
            enabled=params.enable_callback,
            include_last_message=params.include_last_message,
            include_original_prompt=params.include_original_prompt,
            extra_instructions=params.extra_instructions,
        ),
    )


def _ids(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


BRANCHED = _ids("sessionId", "taskId")
PROMPTED = BRANCHED | {"properties": {"success": {"type": "boolean"}, **BRANCHED["properties"]}}

PROMPT: Tool[PromptSession] = Tool(
    "agor_sessions_prompt",
    "Give work to a session: prompt it, fork it, spawn a child of it, or ask it a side question.",
    PromptSession,
    PROMPTED,
    _prompt,
    _prompt_claim,
    "change",
)
SPAWN: Tool[Spawn] = Tool(
    "agor_sessions_spawn",
    "Delegate to a child session. It works in parallel; when it finishes, its report reaches you as a prompt.",
    Spawn,
    BRANCHED,
    _spawn,
    _spawn_claim,
    "change",
)
