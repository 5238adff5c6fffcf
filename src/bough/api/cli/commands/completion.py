"""`bough completion`, and `bough demo-agent`, which runs the demo agent."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from bough.api.cli.framework.base import FAILED, CommandContext, command


def add_to(root: typer.Typer) -> None:
    command(root, "completion", common=())(completion)
    settings = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": list[str]()}
    root.command("demo-agent", context_settings=settings)(demo_agent)


def completion(
    ctx: CommandContext,
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print a shell completion script. Load it with: eval "$(bough completion bash)"."""
    from bough.api.cli.main import COMPLETING, PROGRAM, build

    os.environ[COMPLETING] = f"source_{shell}"
    try:
        build([]).main(args=[], prog_name=PROGRAM)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    finally:
        del os.environ[COMPLETING]
    return 0


def demo_agent(ctx: typer.Context) -> None:
    """Run the demo agent: an ACP agent on stdin and stdout that follows directives and needs no model."""
    from bough.agents.demo.__main__ import main

    raise typer.Exit(main(ctx.args))
