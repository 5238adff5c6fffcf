"""Every setting, one sentence each (L2). A flag wins over a variable, a variable over `config.toml` in the data
folder, that over the default."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from bough.errors import Invalid
from bough.model.session import Headless

# Names from the documents that Bough grew out of; they work beside BOUGH_*.
ALIASES = {
    "workspace_root": "AGENT_WORKSPACE_ROOT",
    "idle_timeout": "AGENT_SESSION_IDLE_TIMEOUT",
    "max_sessions": "AGENT_MAX_SESSIONS",
    "max_queue": "AGENT_MAX_QUEUE",
}

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
OnInterrupt = Literal["continue", "ask", "hold"]


def default_data() -> str:
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "bough")


class Settings(msgspec.Struct, kw_only=True, frozen=True):
    """How one server runs. Field order is the order of the documentation."""

    data: Annotated[str, Meta(description="Folder that holds everything Bough keeps.")] = msgspec.field(
        default_factory=default_data
    )
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(ge=0, le=65535, description="Port to listen on; 0 picks one and remembers it in the data folder."),
    ] = 4100
    database: Annotated[
        str,
        Meta(description="Database: a SQLite path or a postgresql:// URL; empty means bough.db in the data folder."),
    ] = ""
    workspace_root: Annotated[
        str,
        Meta(description="Folder that every repository and worktree must lie in; empty means your home folder."),
    ] = ""
    allowed_hosts: Annotated[
        str,
        Meta(description="Further host names, separated by commas, under which the server may be reached."),
    ] = ""
    default_agent: Annotated[
        str,
        Meta(
            description="Agent of a session that names none; empty means the first one installed, else the demo agent."
        ),
    ] = ""
    idle_timeout: Annotated[
        float, Meta(gt=0, description="Minutes without activity after which an idle session is completed.")
    ] = 30
    max_sessions: Annotated[Count, Meta(description="Active root sessions at most; one more is refused.")] = 5
    max_queue: Annotated[Count, Meta(description="Prompts that may wait in one session; one more is refused.")] = 100
    max_agents: Annotated[Count, Meta(description="Agent processes at once; further turns wait for a place.")] = 8
    sleep_after: Annotated[
        Seconds,
        Meta(description="Seconds after which an idle agent process is ended, to be woken by the next prompt."),
    ] = 600
    max_prompt: Annotated[Count, Meta(description="Bytes that one prompt may have.")] = 1024 * 1024
    max_body: Annotated[Count, Meta(description="Bytes that one request body may have.")] = 8 * 1024 * 1024
    initialize_timeout: Annotated[Seconds, Meta(description="Seconds an agent may take to answer initialize.")] = 60
    session_timeout: Annotated[Seconds, Meta(description="Seconds an agent may take to open or load a session.")] = 120
    setup_timeout: Annotated[
        Seconds, Meta(description="Seconds that a repository's setup command may take in a new worktree.")
    ] = 600
    stop_timeout: Annotated[
        Seconds, Meta(description="Seconds an agent may take to answer a cancel before its process is ended.")
    ] = 10
    stop_agents: Annotated[
        bool,
        Meta(description="Whether agents at work are ended with the server instead of being left to their keepers."),
    ] = False
    max_deaths: Annotated[
        Count, Meta(description="Deaths of a session's agent within five minutes after which the session is given up.")
    ] = 3
    on_interrupt: Annotated[
        OnInterrupt,
        Meta(
            description="What becomes of a turn whose agent died: continue starts it again and tells it to go on, "
            "ask waits for a person to say so, hold until the session is resumed."
        ),
    ] = "continue"
    headless: Annotated[
        Headless,
        Meta(
            description="What becomes of a question that nobody answers, unless its session says otherwise: wait keeps "
            "it open, deny and allow answer it when its time is over."
        ),
    ] = "wait"
    approval_timeout: Annotated[
        float,
        Meta(gt=0, description="Minutes that a question waits for a person before headless deny or allow answers it."),
    ] = 10
    max_depth: Annotated[Count, Meta(description="Levels of children below a root session.")] = 5
    max_children: Annotated[Count, Meta(description="Active children that one session may have at once.")] = 25
    max_tree: Annotated[Count, Meta(description="Sessions that one tree may have, archived ones aside.")] = 200
    max_unattended: Annotated[
        Count,
        Meta(description="Turns that agents may cause in a tree until a person speaks there again or lets it go on."),
    ] = 100
    keep_events: Annotated[
        Count, Meta(description="Events kept for clients that reconnect; older cursors are told of a gap.")
    ] = 200_000
    keep_answers: Annotated[
        Seconds, Meta(description="Seconds for which an idempotency key gives the same answer again.")
    ] = 7 * 24 * 3600
    checkpoints: Annotated[
        bool, Meta(description="Whether the files of a git folder are kept before and after each task.")
    ] = True
    checkpoint_patience: Annotated[
        Seconds, Meta(description="Seconds that a checkpoint may hold up a task; a folder that needs longer has none.")
    ] = 2
    checkpoint_files: Annotated[
        Count, Meta(description="Files not committed that a checkpoint takes in; with more there is none.")
    ] = 20_000
    checkpoint_bytes: Annotated[
        Count, Meta(description="Bytes not committed that a checkpoint takes in; with more there is none.")
    ] = 256 * 1024 * 1024
    keep_checkpoints: Annotated[float, Meta(gt=0, description="Days after which checkpoints are forgotten.")] = 30
    synchronous: Annotated[
        Literal["normal", "full"],
        Meta(description="SQLite durability: normal survives killed processes, full survives power loss too."),
    ] = "normal"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least severe log line to write.")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "console", "json"],
        Meta(description="How log lines look; auto is console on a terminal, else json."),
    ] = "auto"

    @property
    def data_path(self) -> Path:
        return Path(self.data).expanduser().absolute()

    @property
    def database_url(self) -> str:
        return self.database or str(self.data_path / "bough.db")

    @property
    def root_path(self) -> Path:
        return Path(self.workspace_root or "~").expanduser().absolute()


FIELDS: dict[str, msgspec.structs.FieldInfo] = {field.name: field for field in msgspec.structs.fields(Settings)}


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"BOUGH_{name.upper()}"


def describe(name: str) -> str:
    """The sentence that documents a setting."""
    kind: Any = FIELDS[name].type
    return next(meta.description for meta in reversed(kind.__metadata__) if meta.description)


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from all three places; Invalid names the place of a wrong value."""
    environ = os.environ if environ is None else environ
    given: dict[str, tuple[Any, str]] = {}
    for name in FIELDS:
        for key in (ALIASES.get(name), variable(name)):
            if key and environ.get(key):
                given[name] = (environ[key], key)
    for name, value in (flags or {}).items():
        if value is not None:
            given[name] = (value, f"--{name.replace('_', '-')}")
    data, _ = given.get("data", (default_data(), ""))
    merged = _from_file(Path(str(data)).expanduser() / "config.toml") | given
    checked = {name: _convert(name, value, origin) for name, (value, origin) in merged.items()}
    return Settings(**checked)


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid("bad_config", f"{path} cannot be read: {error}") from error
    unknown = sorted(set(table) - set(FIELDS))
    if unknown:
        raise Invalid("bad_config", f"{path} has unknown settings: {', '.join(unknown)}.")
    return {name: (value, str(path)) for name, value in table.items()}


def _convert(name: str, value: Any, origin: str) -> Any:
    try:
        return msgspec.convert(value, FIELDS[name].type, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid("bad_setting", f"{origin}: {value!r} does not fit {name}: give {_wanted(name)}.") from error


def _wanted(name: str) -> str:
    """What a setting takes, for people."""
    kind, *metas = get_args(FIELDS[name].type)
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    word = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "a text")
    least = next((meta.ge for meta in metas if meta.ge is not None), None)
    most = next((meta.le for meta in metas if meta.le is not None), None)
    above = next((meta.gt for meta in metas if meta.gt is not None), None)
    if least is not None:
        return f"{word} from {least} to {most}" if most is not None else f"{word} of at least {least}"
    return f"{word} above {above}" if above is not None else word
