"""Declares every setting with its description; `load_settings` loads them and names their variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from bough import setting_values
from bough.agents.network.hosts import parse_patterns
from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.model.session import Headless

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
OnInterrupt = Literal["continue", "ask", "hold"]


def default_data() -> str:
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "bough")


class Settings(msgspec.Struct, kw_only=True, frozen=True):
    """The settings of one server, in the order of the documentation."""

    data: Annotated[str, Meta(description="Folder for everything that Bough stores.")] = msgspec.field(
        default_factory=default_data
    )
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(ge=0, le=65535, description="Port to listen on; 0 picks a free one and remembers it in the data folder."),
    ] = 4100
    database: Annotated[
        str,
        Meta(description="Database: a SQLite path or a postgresql:// URL; empty means bough.db in the data folder."),
    ] = ""
    database_password_file: Annotated[
        str, Meta(description="File with the password for a postgresql:// URL, which then needs none.")
    ] = ""
    workspace_root: Annotated[
        str, Meta(description="Folder that must contain all repos and worktrees; empty means your home folder.")
    ] = ""
    allowed_hosts: Annotated[
        str, Meta(description="Additional host names, separated by commas, under which the server may be reached.")
    ] = ""
    tls_cert: Annotated[str, Meta(description="File with the server's certificate chain (PEM), for https.")] = ""
    tls_key: Annotated[str, Meta(description="File with the private key of tls_cert, without a password.")] = ""
    behind_proxy: Annotated[
        str,
        Meta(
            description="Addresses or networks, separated by commas, of the proxies that encrypt the connections of "
            "other machines and send X-Forwarded-Proto."
        ),
    ] = ""
    default_agent: Annotated[
        str, Meta(description="Agent for new sessions; empty means the first installed agent, or else the demo agent.")
    ] = ""
    agent_registry: Annotated[
        str,
        Meta(
            description="Document of an agent registry, from which `bough agents add NAME` takes entries: a path or an "
            "https:// address."
        ),
    ] = ""
    idle_timeout: Annotated[
        float, Meta(gt=0, description="Minutes of inactivity after which an idle session is completed.")
    ] = 30
    max_sessions: Annotated[Count, Meta(description="Maximum number of active root sessions.")] = 5
    max_queue: Annotated[Count, Meta(description="Maximum number of queued prompts per session.")] = 100
    max_agents: Annotated[
        Count, Meta(description="Maximum number of agent processes; further turns wait for a free slot.")
    ] = 8
    sleep_after: Annotated[
        Seconds, Meta(description="Seconds after which an idle agent is suspended; the next prompt wakes it.")
    ] = 600
    max_prompt: Annotated[Count, Meta(description="Maximum size of a prompt in bytes.")] = 1024 * 1024
    max_body: Annotated[Count, Meta(description="Maximum size of a request body in bytes.")] = 8 * 1024 * 1024
    max_transcript: Annotated[
        Count,
        Meta(
            description="Maximum size of a transcript in bytes, unless the session has its own; near it, tool output "
            "is shortened, and at it, the turn is stopped."
        ),
    ] = 256 * 1024 * 1024
    initialize_timeout: Annotated[Seconds, Meta(description="Seconds that an agent may take to answer initialize.")] = (
        60
    )
    session_timeout: Annotated[
        Seconds, Meta(description="Seconds that an agent may take to create or load a session.")
    ] = 120
    setup_timeout: Annotated[
        Seconds, Meta(description="Seconds that a repo's setup command may take in a new worktree.")
    ] = 600
    stop_timeout: Annotated[
        Seconds, Meta(description="Seconds that an agent may take to stop a turn before its process is ended.")
    ] = 10
    stop_agents: Annotated[
        bool,
        Meta(
            description="Whether running agents, terminals and runs end with the server; otherwise their keepers keep "
            "them running."
        ),
    ] = False
    max_deaths: Annotated[
        Count, Meta(description="Number of agent crashes within five minutes after which a session fails.")
    ] = 3
    on_interrupt: Annotated[
        OnInterrupt,
        Meta(
            description="Reaction to a turn whose agent died: continue restarts the agent and tells it to "
            "continue, ask requests your approval first, hold waits until the session is resumed."
        ),
    ] = "continue"
    resume_after_limit: Annotated[
        bool,
        Meta(
            description="Whether a turn that a usage or rate limit ended is parked and continued when the limit ends, "
            "unless the session says otherwise; false lets it fail."
        ),
    ] = True
    limit_pause: Annotated[
        float,
        Meta(
            gt=0,
            description="Minutes until a parked turn is tried again if the agent does not say when its limit ends; "
            "doubled with each try.",
        ),
    ] = 5
    limit_tries: Annotated[
        Count, Meta(description="Number of tries that may meet the same limit before you are asked.")
    ] = 5
    stall_after: Annotated[
        float,
        Meta(
            ge=0,
            description="Minutes without output and processor time of its agent after which a turn is shown as "
            "stalled; waiting for an approval does not count. 0 turns this off.",
        ),
    ] = 10
    loop_after: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of repetitions of the same tool call with the same arguments after which a turn is "
            "shown as looping; 0 turns this off.",
        ),
    ] = 10
    nudge_stuck: Annotated[
        bool,
        Meta(
            description="Whether a stalled or looping turn is sent one prompt that says so, if its agent takes prompts "
            "during turns."
        ),
    ] = False
    stop_stuck: Annotated[
        float,
        Meta(
            ge=0,
            description="Minutes after which a turn that stays stalled or looping is stopped and the queue paused, "
            "counted from its last sign of life or from the time when the loop was noticed; 0 turns this off.",
        ),
    ] = 0
    headless: Annotated[
        Headless,
        Meta(
            description="Answer to approvals that nobody decides, unless the session says otherwise: wait keeps "
            "them pending, deny and allow answer them after approval_timeout."
        ),
    ] = "wait"
    approval_timeout: Annotated[
        float,
        Meta(gt=0, description="Minutes that an approval waits for a person before headless deny or allow answers it."),
    ] = 10
    listed_sessions: Annotated[
        Literal["all", "tree"],
        Meta(
            description="Sessions that the tools list_sessions and get_session_status show to an agent: all, or those "
            "of its own tree and of trees it created. What was said in others stays closed."
        ),
    ] = "all"
    poll_checks: Annotated[
        float,
        Meta(
            ge=0,
            description="Seconds between looks at the checks of an open pull request, longer while nothing changes. "
            "With 0, Bough looks only on request.",
        ),
    ] = 60
    send_checks: Annotated[
        bool,
        Meta(
            description="Whether failed checks and review threads are sent to the session automatically, unless the "
            "worktree says otherwise."
        ),
    ] = False
    max_terminals: Annotated[
        int, Meta(ge=0, description="Maximum number of open terminals; 0 turns terminals off.")
    ] = 16
    terminal_idle_timeout: Annotated[
        float,
        Meta(
            ge=0,
            description="Hours without viewers and output after which a terminal ends; 0 means never.",
        ),
    ] = 72
    worktree_ports: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{1,5}-[0-9]{1,5}$",
            description="Range of ports from which each worktree gets a block of ten for its own programs.",
            extra={"expected": "a range of at least ten ports, such as 20000-29999"},
        ),
    ] = "20000-29999"
    preview_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="Port of this machine at which what runs in worktrees is previewed; 0 picks a free one and "
            "remembers it in the data folder.",
        ),
    ] = 0
    max_runs: Annotated[
        int, Meta(ge=0, description="Maximum number of commands that run in worktrees; 0 turns runs off.")
    ] = 32
    sandbox: Annotated[
        Sandbox,
        Meta(
            description="Whether agents run in a sandbox, unless the repo or session says otherwise: auto confines "
            "them where bubblewrap works, required starts no agent without it, off confines none."
        ),
    ] = "auto"
    sandbox_profile: Annotated[
        SandboxProfile,
        Meta(
            description="Profile of the sandbox, unless the repo or session says otherwise: workspace limits the files "
            "that agents reach, strict also the hosts."
        ),
    ] = "workspace"
    sandbox_hosts: Annotated[
        str,
        Meta(
            description="Hosts, separated by commas, that strictly confined agents may reach in addition to their "
            "model's: api.example.com, *.example.com, internal:git.example.com, localhost:11434."
        ),
    ] = ""
    sandbox_read: Annotated[
        str, Meta(description="Hidden paths, separated by commas, that confined agents may read after all.")
    ] = ""
    sandbox_write: Annotated[
        str, Meta(description="Additional paths, separated by commas, that confined agents may write, such as a cache.")
    ] = ""
    sandbox_memory: Annotated[
        Count, Meta(description="Maximum size of the data of each process of a confined agent in bytes.")
    ] = 64 * 1024 * 1024 * 1024
    sandbox_processes: Annotated[
        Count, Meta(description="Maximum number of processes and threads of a confined agent; not applied to root.")
    ] = 8192
    sandbox_open_files: Annotated[
        Count, Meta(description="Maximum number of open files of each process of a confined agent.")
    ] = 65536
    agent_env: Annotated[
        str,
        Meta(
            description="Additional variables of the server, separated by commas, that agents inherit; * stands for "
            "any characters, as in AWS_*.",
            pattern=r"^[A-Za-z0-9_*?,\s]*$",
            extra={"expected": "names of variables, without values, separated by commas"},
        ),
    ] = ""
    max_depth: Annotated[Count, Meta(description="Maximum number of levels below a root session.")] = 5
    max_children: Annotated[Count, Meta(description="Maximum number of active children per session.")] = 25
    max_tree: Annotated[Count, Meta(description="Maximum number of sessions per tree, not counting archived ones.")] = (
        200
    )
    max_unattended: Annotated[
        Count,
        Meta(
            description="Maximum number of unattended turns in a tree; a person's prompt or approval resets the count."
        ),
    ] = 100
    keep_events: Annotated[
        Count, Meta(description="Number of events stored for reconnecting clients; older cursors get a gap event.")
    ] = 200_000
    keep_answers: Annotated[
        Seconds, Meta(description="Seconds for which an idempotency key returns the same answer.")
    ] = 7 * 24 * 3600
    checkpoints: Annotated[
        bool, Meta(description="Whether to take checkpoints of git folders before and after each task.")
    ] = True
    checkpoint_patience: Annotated[
        Seconds, Meta(description="Seconds that a checkpoint may delay a task; if it takes longer, it is skipped.")
    ] = 2
    checkpoint_files: Annotated[
        Count, Meta(description="Maximum number of uncommitted files in a checkpoint; with more, it is skipped.")
    ] = 20_000
    checkpoint_bytes: Annotated[
        Count, Meta(description="Maximum size of uncommitted files in a checkpoint in bytes; with more, it is skipped.")
    ] = 256 * 1024 * 1024
    keep_checkpoints: Annotated[float, Meta(gt=0, description="Days after which checkpoints are deleted.")] = 30
    synchronous: Annotated[
        Literal["normal", "full"],
        Meta(description="SQLite durability: normal survives killed processes, full also survives power loss."),
    ] = "normal"
    log_level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="Lowest severity to log.")] = (
        "info"
    )
    log_format: Annotated[
        Literal["auto", "console", "json"],
        Meta(description="Log format; auto is console on a terminal and json otherwise."),
    ] = "auto"

    @property
    def data_path(self) -> Path:
        return Path(self.data).expanduser().absolute()

    @property
    def database_url(self) -> str:
        url = self.database or str(self.data_path / "bough.db")
        return setting_values.with_password_file(url, self.database_password_file)

    @property
    def sandbox_host_patterns(self) -> list[str]:
        return parse_patterns(self.sandbox_hosts)

    @property
    def sandbox_read_paths(self) -> list[str]:
        return setting_values.path_list(self.sandbox_read)

    @property
    def sandbox_write_paths(self) -> list[str]:
        return setting_values.path_list(self.sandbox_write)

    @property
    def worktree_port_range(self) -> tuple[int, int]:
        """The first and the last port for worktrees."""
        return setting_values.port_range(self.worktree_ports)

    @property
    def agent_env_names(self) -> list[str]:
        return [name.strip() for name in self.agent_env.split(",") if name.strip()]

    @property
    def root_path(self) -> Path:
        return Path(self.workspace_root or "~").expanduser().absolute()
