"""`bough agents`: which agents there are, how each stands and what each permission mode means to it, getting one, and
trying one. The facts are `bough.api.agents`; the trying itself is `trial`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Generator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, Here, command, listing
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import agents as complete
from bough.api.cli.framework.formats import brief, clean
from bough.errors import AgentFailed, Invalid
from bough.model.session import MODES, PermissionMode

if TYPE_CHECKING:
    from bough.agents.catalog import Catalog, CatalogEntry
    from bough.api.cli.agents.test_run import Trial

app = typer.Typer(help="List the agents that sessions can have, and how each stands here; get one, try one.")
ROOM_FOR_TITLES = 100
NOTHING = {"mode": "", "start": "", "note": ""}
# What needs no server, only its data folder.
ALONE = ("data", "json")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Which agent.", autocompletion=complete)]
Names = Annotated[list[str], typer.Argument(metavar="NAME…", help="Which agents.", autocompletion=complete)]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="agents")


def standing(agent: Json) -> str:
    """How an agent stands, in the words of all commands."""
    if agent["error"] is not None:
        return f"broken: {agent['error']}"
    if agent["how"] == "missing":
        get = f"bough agents install {agent['name']}" if agent["pinned"] else agent["install"]
        return f"not installed: {get}" if get else "not installed"
    keyless = agent["login"]["found"] is False
    if agent["how"] == "npx":
        return "through npx, no key found" if keyless else "through npx"
    return "installed, no key found" if keyless else "ready"


def in_words(mode: Json) -> str:
    """What an agent is set to for a permission mode."""
    if not mode["mode"]:
        return "is not told of it"
    return f"{mode['mode']} ({mode['start']})" if mode["start"] else mode["mode"]


@listing(app)
def list_agents(here: Here) -> None:
    """List the agents that sessions can have, and how each stands here."""

    def render(answer: Any) -> None:
        # What helps must be readable: where it is narrow, the titles give way to it.
        wide = output.width() >= ROOM_FOR_TITLES
        columns = ("NAME", *(("TITLE",) if wide else ()), "STATE", "VERSION", "DEFAULT")
        rows = [
            (
                row["name"],
                *((brief(row["title"], 40),) if wide else ()),
                brief(standing(row), 200),
                (row["version"] or "").partition(" ")[0],
                "yes" if row["isDefault"] else "",
            )
            for row in answer["agents"]
        ]
        output.table(columns, rows, flexible="STATE", empty="No agent.")

    here.show(here.client.get("/api/agents"), render)


@command(app, "show")
def show(here: Here, name: Name) -> None:
    """Show one agent: how it stands, how it is started, and what each permission mode means to it."""
    rows: list[Json] = here.client.get("/api/agents").value["agents"]
    row = next((one for one in rows if one["name"] == name), None)
    if row is None:
        known = ", ".join(one["name"] for one in rows)
        raise Invalid("unknown_agent", f"There is no agent {name[:100]!r}. Choose one of: {known}.")
    if here.json:
        output.document(row)
        return
    key = {True: "found", False: f"none found. {row['login']['how']}", None: ""}[row["login"]["found"]]
    output.facts(
        [
            ("agent", f"{row['name']}: {row['title']}" + (" (default)" if row["isDefault"] else "")),
            ("about", row["description"]),
            ("state", standing(row)),
            ("version", _versions(row)),
            ("command", " ".join(row["command"])),
            ("key", key),
            ("sleeps", "yes, when it is idle" if row["resumable"] else "no: it loses its conversations"),
            ("from", row["origin"]),
        ]
    )
    if row["modes"]:
        output.line("\nWhat each permission mode is to it, and in parentheses what it is started with:")
        output.facts([(name, _with_note(row["modes"][name])) for name in MODES if name in row["modes"]])


@command(app, "modes")
def modes(here: Here) -> None:
    """Show what each permission mode means to each agent: its own mode, and in parentheses what it is started with."""
    rows: list[Json] = [one for one in here.client.get("/api/agents").value["agents"] if one["modes"]]
    if here.json:
        output.document({"agents": [{"name": one["name"], "modes": one["modes"]} for one in rows]})
        return
    _draw_modes(rows)
    output.note("What an agent does in one of them: bough agents show NAME")


@command(app, "install", common=ALONE)
def install(here: Here, names: Names) -> int:
    """Get agents from npm, each in the version that Bough was measured with, into the data folder.

    Needs npm, and no server; one that runs finds the agent at once. What is there already is left alone. A program of
    the same name on the PATH is used rather than this one.
    """
    from bough.agents.install import install as get
    from bough.agents.install import package_of

    catalog, data = _catalog(here)
    wanted = [catalog.get(name) for name in dict.fromkeys(names)]
    for entry in wanted:
        package_of(entry)
    done: list[Any] = []
    for entry in wanted:
        package = package_of(entry)
        with _waiting(f"{entry.title} {package.version} ({package.npm}) …"):
            found = get(entry, data)
        done.append(found)
        said = "is there already" if found.already else "is installed"
        if not here.json:
            output.line(f"{entry.title} {found.version} {said}, in {clean(found.folder)}.")
        if found.warning:
            output.note(found.warning)
        if not here.json:
            _what_next(catalog, entry)
    if here.json:
        import msgspec

        output.raw(msgspec.json.encode({"installed": done}))
    return DONE


@command(app, "test", common=ALONE)
def test(
    here: Here,
    name: Name,
    cwd: Annotated[str, typer.Option("--cwd", metavar="DIR", help="Folder to start it in.")] = ".",
    mode: Annotated[
        PermissionMode | None,
        typer.Option("--mode", "-m", help=f"Permission mode to bring it into: {', '.join(MODES)}."),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", "-p", help="Send this too, and print the answer; what it asks for is refused."),
    ] = None,
) -> int:
    """Start an agent as the server would, shake hands with it, and say what was seen; exit 1 if it does not work.

    Needs no server. The agent is told its permission mode and is ended again; without --prompt nothing is asked of a
    model.
    """
    from bough import settings
    from bough.observe.logging import silent

    folder = os.path.abspath(os.path.expanduser(cwd))
    catalog, _ = _catalog(here)
    chosen = settings.load({"data": here.place.data})
    with silent():
        trial = asyncio.run(_try(catalog.get(name), chosen, folder, mode or catalog.get(name).default_mode, prompt))
    if here.json:
        import msgspec

        output.raw(msgspec.json.encode(trial))
    else:
        _draw_trial(catalog.get(name), trial)
    if trial.error is None:
        return DONE
    for line in trial.error.stderr.splitlines():
        output.note(f"  {line}")
    output.note(" ".join(part for part in (trial.error.message, trial.error.next) if part))
    return FAILED


async def _try(entry: CatalogEntry, chosen: Any, cwd: str, mode: PermissionMode, prompt: str | None) -> Trial:
    from bough.api.cli.agents.test_run import try_agent

    task = asyncio.current_task()
    assert task is not None
    # So that nothing of the agent is left when we are told to end.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await try_agent(entry, chosen, cwd, mode, prompt)
    except asyncio.CancelledError:
        raise AgentFailed("agent_gone", f"The test of {entry.name} was broken off.") from None


def _draw_trial(entry: CatalogEntry, trial: Trial) -> None:
    took = {step.name: f"{step.seconds:.2f} s" for step in trial.steps}
    can = [name for name, value in trial.capabilities.items() if value]
    spoken = f"version {trial.protocol}, {trial.agent_info}" if trial.protocol is not None else ""
    row = {"version": trial.version, "pinned": trial.pinned, "how": trial.how}
    output.facts(
        [
            ("agent", f"{trial.agent}: {trial.title}"),
            ("version", _versions(row)),
            ("command", " ".join(trial.command)),
            ("folder", trial.cwd),
            ("key", {True: "found", False: f"none found. {entry.login.how}", None: ""}[trial.login_found]),
            ("protocol", spoken.removesuffix(", ")),
            ("can", ", ".join(can)),
            ("logins", ", ".join(trial.auth_methods)),
            ("its modes", ", ".join(trial.modes)),
            ("mode", _mode_said(trial)),
            ("notices", " ".join(trial.notices)),
            ("took", ", ".join(f"{name} {time}" for name, time in took.items())),
        ]
    )
    if trial.answer is not None:
        if trial.answer or trial.error is None:
            output.line("")
            output.line(trial.answer or "(no text)")
        for one in trial.refused:
            output.note(f"Refused: {brief(one)}")
    if trial.error is None:
        unproven = trial.login_found is not None and trial.answer is None
        doubt = " Whether its key is good shows only when it is prompted, with --prompt." if unproven else ""
        output.line(f"\n{trial.title} works.{doubt}")


def _mode_said(trial: Trial) -> str:
    """Whether the agent went into its mode, as far as that is known."""
    if trial.initial_mode is None and trial.error is not None:
        return ""
    asked = f"{trial.permission_mode} → {trial.mode}" if trial.mode else trial.permission_mode
    if not trial.mode or trial.initial_mode is None:
        return f"{asked}: the agent {'has no modes' if trial.mode else 'is not told of it'}"
    return f"{asked}: {'taken' if trial.mode_taken else 'not taken'}"


def _draw_modes(rows: list[Json]) -> None:
    """A line for each mode, with what it is to each agent; a list for each if that does not fit."""
    names = [row["name"] for row in rows]
    cells = [[name, *(_tail(in_words(row["modes"].get(name, NOTHING))) for row in rows)] for name in MODES]
    head = ["MODE", *(name.upper() for name in names)]
    if (
        sum(max(len(row[at]) for row in [head, *cells]) + output.GAP for at in range(len(head))) - output.GAP
        > output.width()
    ):
        for name, *own in cells:
            output.line(name, "bold")
            output.facts([(f"  {agent}", said) for agent, said in zip(names, own, strict=True)])
        return
    output.table(head, cells, flexible=head[-1], empty="No mode.")


def _with_note(mode: Json) -> str:
    own = _tail(in_words(mode))
    return f"{own}: {mode['note']}" if mode["note"] else own


def _tail(mode: str) -> str:
    """A mode that is named by an address is known by its end."""
    return mode.rpartition("#")[2] if mode.startswith("https://") else mode


def _versions(row: Json) -> str:
    """The version that is here, and the one that Bough knows, if that is another."""
    here, pinned = row["version"], row["pinned"]
    if here is None:
        return f"(Bough was measured with {pinned})" if pinned else ""
    return here if pinned in (None, here) else f"{here} (Bough was measured with {pinned})"


def _what_next(catalog: Catalog, entry: CatalogEntry) -> None:
    """Says what stands between an agent that was just installed and its first prompt."""
    from bough.agents.catalog.find import is_set_up, npm_folder

    found = catalog.find(entry)
    own = str(npm_folder(catalog.data, entry))
    if found is not None and not found.program.startswith(own):
        output.note(f"{found.program} is on the PATH and is used instead.")
    if is_set_up(entry) is False:
        output.note(f"No key for it was found. {entry.login.how}")
    else:
        output.note(f"Try it with: bough agents test {entry.name}")


@contextlib.contextmanager
def _waiting(text: str) -> Generator[None]:
    """Says what takes its time; on a terminal it moves, and goes away afterwards."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        with console.status(clean(text)):
            yield
    else:
        output.note(text)
        yield


def _catalog(here: Here) -> tuple[Catalog, Any]:
    from bough import settings
    from bough.agents.catalog import load_catalog
    from bough.observe.logging import silent

    data = settings.load({"data": here.place.data}).data_path
    with silent():
        return load_catalog(data), data
