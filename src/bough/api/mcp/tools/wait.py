"""The tool that waits for tasks and sessions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp.tools.base import Params, Tool, ToolContext
from bough.core.events.wait import MOST, Wait
from bough.errors import Invalid

LONGEST_WAIT = 45


class WaitParams(Params):
    task_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    mode: Literal["any", "all"] = "all"
    timeout_seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = LONGEST_WAIT


async def _wait(ctx: ToolContext, params: WaitParams) -> dict[str, Any]:
    services = ctx.services
    if not 0 < len(params.task_ids) + len(params.session_ids) <= MOST:
        raise Invalid("bad_arguments", f"Pass between 1 and {MOST} taskIds or sessionIds.")
    tasks = [await ctx.readable_task(task_id) for task_id in params.task_ids]
    sessions = [(await ctx.readable_session(session_id)).id for session_id in params.session_ids]
    if ctx.caller.id in (*sessions, *(task.session_id for task in tasks if task.ended_at is None)):
        raise Invalid("waits_for_itself", "You cannot wait for yourself: your turn runs until you end it.")
    request = Wait(
        task_ids=list(params.task_ids),
        session_ids=list(params.session_ids),
        mode=params.mode,
        timeout_seconds=params.timeout_seconds,
    )
    with services.scheduler.lending(ctx.caller.id or ""):
        result = await services.waiting.wait(ctx.caller, request)
    for done in result.done:
        done.status = {"error": "failed", "not_started": "idle"}.get(done.status, done.status)
    return msgspec.to_builtins(result)


WAITED = {
    "type": "object",
    "properties": {
        "done": {"type": "array", "items": {"type": "object", "required": ["id", "sessionId", "status"]}},
        "pending": {"type": "array", "items": {"type": "string"}},
        "paused": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["done", "pending", "paused"],
}
WAIT = Tool(
    "agor_sessions_wait",
    "Wait up to 45 s until any or all (default) of the tasks have ended or the sessions are idle. Call again for "
    "pending ones; paused ones need a person. Children report to you on their own, so you need not wait for them.",
    WaitParams,
    WAITED,
    _wait,
    only_rows=False,
)
