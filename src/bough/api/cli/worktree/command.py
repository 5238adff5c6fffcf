"""Declares the group `bough worktree`."""

from __future__ import annotations

import typer

from bough.api.cli.framework.base import command
from bough.api.cli.worktree import checks, create, finish, pull_request, remove, runs, show, sweep, terminal

app = typer.Typer(no_args_is_help=True, help="Worktrees: working copies of a repo, each on its own branch.")

# The help lists them in this order.
command(app, "list")(show.list_worktrees)
command(app, "new")(create.new)
command(app, "adopt")(create.adopt)
command(app, "setup")(create.setup)
command(app, "show")(show.show)
command(app, "losses")(show.losses)
command(app, "diff")(show.diff)
command(app, "terminal")(terminal.terminal)
command(app, "run")(runs.run)
command(app, "runs")(runs.runs)
command(app, "stop-run")(runs.stop_run)
command(app, "log")(runs.log)
command(app, "preview")(runs.preview)
command(app, "status")(finish.status)
command(app, "commit")(finish.commit)
command(app, "update")(finish.update)
command(app, "merge")(finish.merge)
command(app, "push")(finish.push)
command(app, "pr")(pull_request.pull_request)
command(app, "checks")(checks.checks)
command(app, "cleanup")(finish.cleanup)
command(app, "sweep")(sweep.sweep)
command(app, "set")(create.change)
command(app, "remove")(remove.remove)
command(app, "recover")(remove.recover)


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="worktree")
