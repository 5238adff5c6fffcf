"""`bough completion`, and the demo agent's place among the commands."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from bough.api.cli.framework.base import FAILED, Here, command


def add_to(root: typer.Typer) -> None:
    command(root, "completion", common=())(completion)
    settings = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": list[str]()}
    root.command("demo-agent", context_settings=settings)(demo_agent)


def completion(
    here: Here,
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print a script that completes commands; load it with: eval "$(bough completion bash)"."""
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
    """Be the demo agent: a real agent on stdin and stdout that follows directives, without a model."""
    from bough.agents.demo.__main__ import main

    raise typer.Exit(main(ctx.args))
