"""Tools for what runs in worktrees. A person decides each time an agent wants to start a command of the repository."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import ChangingParams, Params, Tool, ToolContext
from bough.api.mcp.tools.shared_wording import Id, quote
from bough.core.runs.command import NewRun
from bough.model.call import Claim
from bough.model.run import Run
from bough.model.values.visible import visible

# Characters of a log's end that an agent gets.
LONGEST_LOG = 20_000
RUNS_CODE = "It runs a command of the repository, on files that the session may have written."


class StartedRun(msgspec.Struct):
    run_id: str
    name: str | None
    state: str
    code: int | None
    port: int | None
    answers: bool


class RunOutput(StartedRun):
    log: str


class StartRun(ChangingParams):
    worktree_id: Id
    name: Annotated[str, Meta(description="Name in [run] of .bough.toml.")]


class ReadRunLog(Params):
    worktree_id: Id
    name: str | None = None


def _fields(row: Run) -> dict[str, Any]:
    return {
        "run_id": row.id,
        "name": row.name,
        "state": row.state,
        "code": row.code,
        "port": row.port,
        "answers": row.answers,
    }


async def _start_claim(ctx: ToolContext, params: StartRun) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    report = await ctx.services.repo_configs.report(worktree.repo_id, worktree.id)
    command = next((item.command for item in report.run if item.name == params.name), "")
    title = f"Run {quote(params.name)} in worktree {worktree.name!r}: {quote(command)}?"
    return Claim(
        title=title,
        repo=worktree.repo_id,
        worktree=worktree.id,
        expected={"command": command},
        reason_to_ask=RUNS_CODE,
    )


async def _start(ctx: ToolContext, params: StartRun) -> StartedRun:
    request = NewRun(name=params.name, expected_command=ctx.expected.get("command"))
    return StartedRun(**_fields(await ctx.services.runs.start(ctx.caller, params.worktree_id, request)))


async def _read_log(ctx: ToolContext, params: ReadRunLog) -> RunOutput:
    row = await ctx.services.runs.named(ctx.caller, params.worktree_id, params.name)
    answer = await ctx.services.runs.log(row.id)
    return RunOutput(**_fields(answer.run), log=visible(answer.text[-LONGEST_LOG:]))


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_worktrees_run",
        "Run a command that the repo names, such as its dev server. A person decides.",
        StartRun,
        results.RUN,
        _start,
        _start_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_run_log",
        "Read what a run command printed, and its port.",
        ReadRunLog,
        results.RUN_LOG,
        _read_log,
        only_rows=False,
    ),
)
