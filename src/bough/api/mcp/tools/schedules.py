"""Tools about schedules. A person decides about each schedule that an agent adds."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import ChangingParams, Params, Tool, ToolContext
from bough.api.mcp.tools.create_update_stop import find_folder
from bough.api.mcp.tools.presets import expected_preset, with_preset
from bough.api.mcp.tools.read import Limit, Offset
from bough.api.mcp.tools.results import Listed
from bough.api.mcp.tools.shared_wording import Id, PresetName, named, quote
from bough.core.schedules.requests import NewSchedule, ShownSchedule, checked_timing
from bough.core.sessions.requests import NewSession
from bough.errors import Denied, Invalid
from bough.model.call import Claim
from bough.model.session import PermissionMode
from bough.model.values.times import now

LATER = "It sends prompts later, without anybody asking for each."


class ScheduleResult(msgspec.Struct):
    schedule_id: str
    session_id: str | None
    title: str
    prompt: str
    times: str
    upcoming: list[str]
    paused: bool
    last_status: str | None


class SchedulesParams(Params):
    session_id: Annotated[str | None, Meta(description="Default: yours.")] = None
    limit: Limit = 50
    offset: Offset = 0


class CreateSchedule(ChangingParams):
    prompt: str
    cron: Annotated[str | None, Meta(description="Five fields.")] = None
    at: Annotated[str | None, Meta(description="Or one time.")] = None
    timezone: str = "UTC"
    title: str | None = None
    session_id: Annotated[str | None, Meta(description="Whom to prompt; default: you.")] = None
    worktree_id: Annotated[str | None, Meta(description="Or where a new session works each time.")] = None
    agentic_tool: str | None = None
    preset: PresetName = None
    permission_mode: PermissionMode | None = None


class ScheduleOnly(ChangingParams):
    schedule_id: Id


def _result(schedule: ShownSchedule) -> ScheduleResult:
    return ScheduleResult(
        schedule.id,
        schedule.session_id,
        schedule.title,
        schedule.prompt,
        schedule.times,
        schedule.upcoming,
        schedule.paused,
        schedule.last_run.status if schedule.last_run is not None else None,
    )


async def _list(ctx: ToolContext, params: SchedulesParams) -> Listed[ScheduleResult]:
    session_id = params.session_id or ctx.caller.id
    if session_id is not None:
        session_id = (await ctx.readable_session(session_id)).id
    page = await ctx.services.schedules.list(session_id, params.limit, params.offset)
    return Listed([_result(row) for row in page.rows], page.total, page.limit, page.offset)


async def _request(ctx: ToolContext, params: CreateSchedule) -> NewSchedule:
    fields: dict[str, Any] = {"prompt": params.prompt, "cron": params.cron, "at": params.at}
    fields |= {"timezone": params.timezone, "title": params.title or ""}
    if params.worktree_id is None:
        if (params.agentic_tool, params.preset, params.permission_mode) != (None, None, None):
            raise Invalid(
                "bad_schedule", "agenticTool, preset and permissionMode are for new sessions: pass worktreeId, too."
            )
        session_id = params.session_id or (await ctx.own_session("Pass sessionId or worktreeId.")).id
        return NewSchedule(**fields, session_id=session_id)
    if params.session_id is not None:
        raise Invalid("bad_schedule", "Pass either sessionId or worktreeId.")
    repo_id, _, worktree_id = await find_folder(ctx, params.worktree_id)
    agent, mode = params.agentic_tool, params.permission_mode
    if params.preset is None:
        agent = agent or (await ctx.own_session("Pass agenticTool.")).agent
        mode = mode or ctx.services.catalog.get(agent).default_mode
    repo = repo_id if worktree_id is None else None
    preset = params.preset
    session = NewSession(repo_id=repo, worktree_id=worktree_id, preset=preset, agent=agent, permission_mode=mode)
    return NewSchedule(**fields, session=session)


async def _create_claim(ctx: ToolContext, params: CreateSchedule) -> Claim:
    request = await _request(ctx, params)
    timing = checked_timing(request.cron, request.at, request.timezone, now())
    when = f"at {timing.cron!r} ({timing.timezone})" if timing.cron is not None else f"once, at {timing.at}"
    if request.session is not None:
        session = await ctx.services.sessions.filled_in(request.session)
        assert session.agent is not None
        agent, mode = session.agent, session.permission_mode or ctx.services.catalog.get(session.agent).default_mode
        assert params.worktree_id is not None
        repo_id, path, _ = await find_folder(ctx, params.worktree_id)
        sessions = f"each time in a new session with {agent} in mode {mode} in {path}"
        title = f"Schedule {quote(request.prompt)} {when}, {sessions}?"
        return with_preset(Claim(title=title, mode=mode, agent=agent, repo=repo_id, reason_to_ask=LATER), session)
    assert request.session_id is not None
    target = await ctx.services.sessions.get(request.session_id)
    title = f"Schedule {quote(request.prompt)} {when} for session {named(target)}?"
    return Claim(title=title, target=target.id, commands=True, reason_to_ask=LATER)


async def _create(ctx: ToolContext, params: CreateSchedule) -> ScheduleResult:
    request = await _request(ctx, params)
    return _result(await ctx.services.schedules.add(ctx.caller, request, expected_preset=expected_preset(ctx)))


async def _remove_claim(ctx: ToolContext, params: ScheduleOnly) -> Claim:
    schedule = await ctx.services.schedules.get(params.schedule_id)
    if schedule.session_id is None:
        if ctx.caller.kind == "session":
            raise Denied("schedule_for_people", "Only people can remove a schedule that creates sessions.")
        return Claim(title=f"Remove the schedule {quote(schedule.title)}?")
    target = await ctx.readable_session(schedule.session_id)
    return Claim(title=f"Remove the schedule {quote(schedule.title)} of session {named(target)}?", target=target.id)


async def _remove(ctx: ToolContext, params: ScheduleOnly) -> ScheduleResult:
    return _result(await ctx.services.schedules.remove(ctx.caller, params.schedule_id))


SCHEDULE = results.SCHEDULE
TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_schedules_list",
        "List schedules of a session.",
        SchedulesParams,
        results.listing("schedule_id", "times"),
        _list,
        only_rows=False,
    ),
    Tool(
        "agor_schedules_create",
        "Schedule a prompt. A person decides.",
        CreateSchedule,
        SCHEDULE,
        _create,
        _create_claim,
        "change",
    ),
    Tool("agor_schedules_remove", "Remove a schedule.", ScheduleOnly, SCHEDULE, _remove, _remove_claim, "end"),
)
