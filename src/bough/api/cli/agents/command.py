"""`bough agents`: lists agents and their state, shows what each permission mode means to them, and installs, logs
in to and tests them."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.api.cli.agents import offers, registry
from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command, group_default
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import agents as complete
from bough.api.cli.framework.formats import brief
from bough.api.cli.framework.progress import waiting
from bough.api.cli.framework.terminal_safety import clean
from bough.errors import AgentFailed, Invalid
from bough.model.session import MODES, PermissionMode

if TYPE_CHECKING:
    from bough.agents.catalog import Catalog, CatalogEntry
    from bough.api.cli.agents.trial import Trial

app = typer.Typer(help="List, show, install, log in to and test agents.")
ROOM_FOR_TITLES = 100
NOTHING = {"mode": "", "start": "", "note": ""}
# The common options of commands that need no server, only its data folder.
WITHOUT_SERVER = ("data", "json")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Agent name.", autocompletion=complete)]
Names = Annotated[list[str], typer.Argument(metavar="NAME…", help="Agent names.", autocompletion=complete)]


def add_to(root: typer.Typer) -> None:
    offers.add_to(app)
    registry.add_to(app)
    root.add_typer(app, name="agents")


def agent_state(agent: Json) -> str:
    """Describes an agent's state: ready, not installed, broken, or without a key."""
    if agent["error"] is not None:
        return f"broken: {agent['error']}"
    if agent["how"] == "missing":
        command = f"bough agents install {agent['name']}" if agent["pinned"] else agent["install"]
        return f"not installed: {command}" if command else "not installed"
    without_key = agent["login"]["found"] is False
    if agent["registry"] is not None:
        return "added, not measured" if agent["how"] == "installed" else f"added, through {agent['how']}, not measured"
    if agent["how"] == "npx":
        return "through npx, no key found" if without_key else "through npx"
    return "installed, no key found" if without_key else "ready"


def mode_label(mode: Json) -> str:
    """Describes the agent's own mode for a permission mode."""
    if not mode["mode"]:
        return "not set"
    return f"{mode['mode']} ({mode['start']})" if mode["start"] else mode["mode"]


@group_default(app)
def list_agents(ctx: CommandContext) -> None:
    """List the available agents and their state on this machine."""

    def render(answer: Any) -> None:
        # On a narrow terminal the titles make way for the state, which tells people what to do.
        wide = output.width() >= ROOM_FOR_TITLES
        columns = ("NAME", *(("TITLE",) if wide else ()), "STATE", "VERSION", "DEFAULT")
        rows = [
            (
                row["name"],
                *((brief(row["title"], 40),) if wide else ()),
                brief(agent_state(row), 200),
                (row["version"] or "").partition(" ")[0],
                "yes" if row["isDefault"] else "",
            )
            for row in answer["agents"]
        ]
        output.table(columns, rows, flexible="STATE", empty="No agents.")

    ctx.show(ctx.client.get("/api/agents"), render)


@command(app, "show")
def show(ctx: CommandContext, name: Name) -> None:
    """Show an agent: its state, its command, and what each permission mode means to it."""
    rows: list[Json] = ctx.client.get("/api/agents").value["agents"]
    row = next((agent for agent in rows if agent["name"] == name), None)
    if row is None:
        known = ", ".join(agent["name"] for agent in rows)
        raise Invalid("unknown_agent", f"There is no agent {name[:100]!r}. Choose one of: {known}.")
    if ctx.json:
        output.document(row)
        return
    key = {True: "found", False: f"none found. {row['login']['how']}", None: ""}[row["login"]["found"]]
    output.facts(
        [
            ("agent", f"{row['name']}: {row['title']}" + (" (default)" if row["isDefault"] else "")),
            ("about", row["description"]),
            ("state", agent_state(row)),
            ("version", _versions(row)),
            ("command", " ".join(row["command"])),
            ("key", key),
            ("suspends", "yes, when idle" if row["resumable"] else "no, it would lose its conversations"),
            ("from", row["origin"]),
        ]
    )
    if row["modes"]:
        output.line("\nIts own mode for each permission mode, with start options in parentheses:")
        output.facts([(name, _with_note(row["modes"][name])) for name in MODES if name in row["modes"]])


@command(app, "modes")
def modes(ctx: CommandContext) -> None:
    """Show each agent's own mode for each permission mode, with start options in parentheses."""
    rows: list[Json] = [agent for agent in ctx.client.get("/api/agents").value["agents"] if agent["modes"]]
    if ctx.json:
        output.document({"agents": [{"name": agent["name"], "modes": agent["modes"]} for agent in rows]})
        return
    _draw_modes(rows)
    output.note("For what an agent does in each mode: bough agents show NAME")


@command(app, "install", common=WITHOUT_SERVER)
def install(ctx: CommandContext, names: Names) -> int:
    """Install agents from npm into the data folder, in the versions that Bough was tested with.

    Needs npm but no server; a running server finds the agent at once. Installed versions are not changed. A program of
    the same name on the PATH takes precedence.
    """
    from bough.agents.install import install as get
    from bough.agents.install import package_of

    catalog, data = _catalog(ctx)
    entries = [catalog.get(name) for name in dict.fromkeys(names)]
    for entry in entries:
        package_of(entry)
    installed: list[Any] = []
    for entry in entries:
        package = package_of(entry)
        with waiting(f"{entry.title} {package.version} ({package.npm}) …"):
            result = get(entry, data)
        installed.append(result)
        outcome = "was already installed" if result.already else "is installed"
        if not ctx.json:
            output.line(f"{entry.title} {result.version} {outcome}, in {clean(result.folder)}.")
        if result.warning:
            output.note(result.warning)
        if not ctx.json:
            _what_next(catalog, entry)
    if ctx.json:
        import msgspec

        output.raw(msgspec.json.encode({"installed": installed}))
    return DONE


@command(app, "login", common=("data",))
def login(ctx: CommandContext, name: Name) -> int:
    """Log in to an agent's service, with the agent's own login in this terminal.

    Needs no server. Also works for agents that only Bough has installed, whose programs are not on the PATH.
    """
    import subprocess

    from bough.agents.catalog.login import is_set_up, login_command

    catalog, data = _catalog(ctx)
    entry = catalog.get(name)
    arguments, env = login_command(entry, data)
    output.note(f"Starting {entry.title}: {shlex.join(entry.login.command)}")
    code = subprocess.call(arguments, env=env)
    if code != 0:
        raise AgentFailed("login_failed", f"The login of {entry.title} ended with code {code}.", agent=entry.name)
    if is_set_up(entry) is False:
        output.note(f"No key was found for {entry.title} yet. {entry.login.how}")
    else:
        output.note(f"Test it: bough agents test {entry.name} --prompt hello")
    return DONE


@command(app, "test", common=WITHOUT_SERVER)
def test(
    ctx: CommandContext,
    name: Name,
    cwd: Annotated[str, typer.Option("--cwd", metavar="DIR", help="Folder to start the agent in.")] = ".",
    mode: Annotated[
        PermissionMode | None,
        typer.Option("--mode", "-m", help=f"Permission mode to set: {', '.join(MODES)}."),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt", "-p", help="Also send this prompt and print the answer; permission requests are denied."
        ),
    ] = None,
) -> int:
    """Start an agent as the server would and report how it responds; exit 1 if it does not work.

    Needs no server. The agent's mode is set and the agent is ended again. Without --prompt, no model is called.
    """
    from bough.load_settings import load
    from bough.observe.logging import silent

    folder = os.path.abspath(os.path.expanduser(cwd))
    catalog, _ = _catalog(ctx)
    chosen = load({"data": ctx.target.data})
    with silent():
        trial = asyncio.run(_try(catalog.get(name), chosen, folder, mode or catalog.get(name).default_mode, prompt))
    if ctx.json:
        import msgspec

        output.raw(msgspec.json.encode(trial))
    else:
        _draw_trial(catalog.get(name), trial)
    if trial.error is None:
        return DONE
    for line in trial.error.stderr.splitlines():
        output.note(f"  {line}")
    message, advice = trial.error.message, trial.error.next
    output.note(f"{message.rstrip('.')}. {advice}" if advice else message)
    return FAILED


async def _try(entry: CatalogEntry, chosen: Any, cwd: str, mode: PermissionMode, prompt: str | None) -> Trial:
    from bough.api.cli.agents.trial import try_agent

    task = asyncio.current_task()
    assert task is not None
    # Cancel the test on SIGTERM, so that the agent is ended too.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await try_agent(entry, chosen, cwd, mode, prompt)
    except asyncio.CancelledError:
        raise AgentFailed("agent_gone", f"The test of {entry.name} was interrupted.") from None


def _draw_trial(entry: CatalogEntry, trial: Trial) -> None:
    took = {step.name: f"{step.seconds:.2f} s" for step in trial.steps}
    capabilities = [name for name, value in trial.capabilities.items() if value]
    protocol = f"version {trial.protocol}, {trial.agent_info}" if trial.protocol is not None else ""
    row = {"version": trial.version, "pinned": trial.pinned, "how": trial.how}
    output.facts(
        [
            ("agent", f"{trial.agent}: {trial.title}"),
            ("version", _versions(row)),
            ("command", " ".join(trial.command)),
            ("folder", trial.cwd),
            ("key", {True: "found", False: f"none found. {entry.login.how}", None: ""}[trial.login_found]),
            ("protocol", protocol.removesuffix(", ")),
            ("capabilities", ", ".join(capabilities)),
            ("logins", ", ".join(trial.auth_methods)),
            ("its modes", ", ".join(trial.modes)),
            ("mode", _mode_outcome(trial)),
            ("notices", " ".join(trial.notices)),
            ("took", ", ".join(f"{name} {time}" for name, time in took.items())),
        ]
    )
    if trial.answer is not None:
        if trial.answer or trial.error is None:
            output.line("")
            output.line(trial.answer or "(no text)")
        for request in trial.refused:
            output.note(f"Refused: {brief(request)}")
    if trial.error is None:
        unproven = trial.login_found is not None and trial.answer is None
        doubt = " To check its key too, send it something with --prompt." if unproven else ""
        output.line(f"\n{trial.title} works.{doubt}")


def _mode_outcome(trial: Trial) -> str:
    """Describes whether the agent accepted its mode, as far as that is known."""
    if trial.initial_mode is None and trial.error is not None:
        return ""
    requested = f"{trial.permission_mode} → {trial.mode}" if trial.mode else trial.permission_mode
    if not trial.mode or trial.initial_mode is None:
        return f"{requested}: the agent {'has no modes' if trial.mode else 'has no mode for it'}"
    return f"{requested}: {'set' if trial.mode_taken else 'not set'}"


def _draw_modes(rows: list[Json]) -> None:
    """Prints a table with one row per mode and one column per agent, or one list per mode if the table is too wide."""
    names = [row["name"] for row in rows]
    cells = [[name, *(_tail(mode_label(row["modes"].get(name, NOTHING))) for row in rows)] for name in MODES]
    head = ["MODE", *(name.upper() for name in names)]
    if (
        sum(max(len(row[index]) for row in [head, *cells]) + output.GAP for index in range(len(head))) - output.GAP
        > output.width()
    ):
        for name, *labels in cells:
            output.line(name, "bold")
            output.facts([(f"  {agent}", label) for agent, label in zip(names, labels, strict=True)])
        return
    output.table(head, cells, flexible=head[-1], empty="No modes.")


def _with_note(mode: Json) -> str:
    own = _tail(mode_label(mode))
    return f"{own}: {mode['note']}" if mode["note"] else own


def _tail(mode: str) -> str:
    """Returns the end of a mode that is named by a URL, otherwise the mode."""
    return mode.rpartition("#")[2] if mode.startswith("https://") else mode


def _versions(row: Json) -> str:
    """Describes the installed version, and the version that Bough was tested with if it differs."""
    installed, pinned = row["version"], row["pinned"]
    if installed is None:
        return f"(Bough was tested with {pinned})" if pinned else ""
    return installed if pinned in (None, installed) else f"{installed} (Bough was tested with {pinned})"


def _what_next(catalog: Catalog, entry: CatalogEntry) -> None:
    """Prints what is still missing before a newly installed agent can be prompted."""
    from bough.agents.catalog.find_program import npm_folder
    from bough.agents.catalog.login import is_set_up

    installation = catalog.find(entry)
    own = str(npm_folder(catalog.data, entry))
    if installation is not None and not installation.program.startswith(own):
        output.note(f"{installation.program} is on the PATH and takes precedence.")
    if is_set_up(entry) is False:
        output.note(f"No key was found for it. {entry.login.how}")
    else:
        output.note(f"Test it: bough agents test {entry.name}")


def _catalog(ctx: CommandContext) -> tuple[Catalog, Any]:
    from bough.agents.catalog import load_catalog
    from bough.load_settings import load
    from bough.observe.logging import silent

    data = load({"data": ctx.target.data}).data_path
    with silent():
        return load_catalog(data), data
