"""What the catalog says about an agent: how to find and start it, which of its settings give which rights, what it does
differently from what it says. Finding it is `finding`, starting it `start`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from bough.errors import Invalid
from bough.model.session import RANK, PermissionMode
from bough.model.tool import ToolKind

UsageMeaning = Literal["turn", "session", "call", "none"]


class _Table(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    pass


class Package(_Table):
    """Where it comes from, for whoever does not have it."""

    npm: str
    version: str
    # The command in the package, if it is not the first word of the entry's own.
    bin: str = ""

    @property
    def pinned(self) -> str:
        return f"{self.npm}@{self.version}"


class Login(_Table):
    """By what one sees that the agent has been given a key or an account, and what to do if not."""

    env: list[str] = []
    files: list[str] = []
    how: str = ""


class ModeSettings(_Table):
    """The settings of the agent's own that stand for one of our permission modes."""

    # The agent's mode, set before each prompt that needs it; empty leaves the agent alone.
    mode: str = ""
    # The settings to start it with, a name below `[start]`; changing them starts it anew.
    start: str = ""
    note: str = ""


class StartSettings(_Table):
    """Settings that an agent takes in only when it starts, or when it opens a session."""

    env: dict[str, str] = {}
    # Variables that hold JSON: merged into what the user has in them.
    json_env: dict[str, dict[str, Any]] = {}
    args: list[str] = []
    # `_meta` of session/new, load, resume and fork.
    meta: dict[str, Any] = {}


class SettingsFolder(_Table):
    """A folder of Bough's own for an agent that can be told its rights only by files: the user's settings are merged
    with ours or linked, everything else of theirs is left out."""

    # The variable that tells the agent of it, and where it looks without; both empty if only arguments name it.
    variable: str = ""
    user: str = ""
    link: list[str] = []
    # File name → the table that is merged over the user's.
    merge: dict[str, dict[str, Any]] = {}
    # File name → keys of the user's that are left out.
    drop: dict[str, list[str]] = {}
    # Files that are not the agent's but ours: rules, programs.
    files: dict[str, str] = {}
    programs: dict[str, list[str]] = {}


class RepositoryFiles(_Table):
    """What a repository may bring along for an agent, which would grant rights or run code."""

    # Globs of what is asked about before the agent is started there.
    ask: list[str] = []
    # Globs of what makes it start with `restrict_env` instead, which keeps it from taking them in.
    restrict: list[str] = []
    restrict_env: dict[str, str] = {}
    restrict_note: str = ""
    # Instructions that it does not read itself then, so that Bough passes them on.
    restrict_instructions: list[str] = []
    # Instructions for agents that Bough passes on, because the agent is kept from reading them itself.
    instructions: list[str] = []
    # Files and folders that the agent takes rights from: edits of them always ask, whichever agent makes them. Each is
    # one name or several consecutive ones, with wildcards, at any depth: `.claude`, `.github/copilot*`.
    protect: list[str] = []


class Corrections(_Table):
    """Capabilities as they were measured, where an agent says otherwise."""

    load: bool | None = None
    resume: bool | None = None
    fork: bool | None = None
    stdio: bool = True
    http: bool | None = None
    sse: bool | None = None


class Quirks(_Table):
    """What an agent does that others do not."""

    # A command that runs when the turn is cancelled goes on: its process is ended then.
    leaves_commands: bool = False
    # Whether it can fork a conversation into another folder.
    fork_elsewhere: bool = False
    # Starting twice at once in a fresh home fails.
    start_alone: bool = False
    # Whether it can be told what its children report: one that does what it is sent, word by word, cannot.
    takes_reports: bool = True
    # What the tokens in the answer to a prompt count.
    usage: UsageMeaning = "turn"
    # Texts (regular expressions) by which a turn that ends well is known to have failed.
    failures: list[str] = []
    # The same by what the agent says in `_meta` of its updates, as `path.to.field=value`.
    failure_meta: str = ""
    # Last words of such a turn that mean a missing or wrong key.
    unauthenticated: list[str] = []
    # Words of an error that mean the same, where the agent has no code for it.
    unauthorized: list[str] = []
    # What it says as an agent that is not meant for people: a chunk of text that is all of this is left out.
    noise: list[str] = []
    # Names of its tools that change its mode, whatever kind it says that they are of.
    mode_tools: list[str] = []
    # Whether it keeps to a sandbox also in the mode that asks nobody: what it asks then is to leave it.
    sandboxed: bool = False


ToolForm = Annotated[str, msgspec.Meta(pattern=r"^([^{}]*\{(server|tool)\}[^{}]+\{(server|tool)\}[^{}]*)?$")]
"""A text that names a server and a tool, with something between them: `{server}_{tool}`."""


class McpVocabulary(_Table):
    """How an agent tells that a tool belongs to an MCP server. The field of `_meta` is tried first, then the marks, the
    name and the title."""

    # Whether every tool of an MCP server is recognized by what follows; otherwise an unnamed tool may be one.
    recognized: bool = False
    # The field of `_meta` that names the server, as `path.to.field`.
    server_meta: str = ""
    # Fields of `_meta` that mark such a use; its arguments `server` and `tool` then say which.
    marks: list[str] = []
    # The form of the tool's name. Bough's own server counts only if the agent has no `server_meta` to prove it.
    name: ToolForm = "mcp__{server}__{tool}"
    # The form of the title, for agents that give nothing better. It never stands for Bough's own server.
    title: ToolForm = ""
    # Whether that form is the one of the first title, which the agent replaces later.
    first_title: bool = False


class ToolVocabulary(_Table):
    """The words in which an agent describes its tool uses, where they are not the usual ones. Bough's policy reads them
    in `bough.core.policy.tool_use`."""

    # Fields of `_meta` that hold the tool's name, as `path.to.field`; the first that is set counts.
    name_meta: list[str] = msgspec.field(default_factory=lambda: ["toolName"])
    # Where nothing names the tool, its name is what comes before this mark in the id of the tool call.
    name_ends_id_at: str = ""
    # Kinds by the tool's name, for tools whose kind the agent does not say or gets wrong.
    kinds: dict[str, ToolKind] = {}
    # Arguments that hold a command line, files, or a patch, beside the usual ones.
    command_arguments: list[str] = []
    path_arguments: list[str] = []
    patch_arguments: list[str] = []
    # Whether the title of a command is its command line, unless it ends in an ellipsis.
    command_in_title: bool = False
    # Whether its patches put git's `a/` and `b/` before absolute paths: `a/etc/hosts` is `/etc/hosts`.
    absolute_patch_paths: bool = False
    mcp: McpVocabulary = msgspec.field(default_factory=McpVocabulary)


class CatalogEntry(_Table):
    """One agent. In its texts `{python}` is the interpreter that runs Bough, `{data}` Bough's data folder, `{home}` the
    folder that `[home]` makes and `{cwd}` the folder of the session."""

    name: str
    title: str
    command: list[str]
    description: str = ""
    env: dict[str, str] = {}
    # Variables that it must not see, whether the server's or a session's, beside our own.
    hide: list[str] = []
    # How to get it, told to people who do not have it.
    install: str = ""
    package: Package | None = None
    login: Login = msgspec.field(default_factory=Login)
    # Whether load or resume was proven to keep the conversation: only then may its process be put to sleep.
    resume: bool = False
    # Unified permission mode → the agent's own; a mode that is not named is not offered to the agent.
    modes: dict[PermissionMode, ModeSettings | str] = {}
    # The mode of a session whose creator chose none.
    default_mode: PermissionMode = "acceptEdits"
    start: dict[str, StartSettings] = {}
    home: SettingsFolder | None = None
    repository: RepositoryFiles = msgspec.field(default_factory=RepositoryFiles)
    corrections: Corrections = msgspec.field(default_factory=Corrections)
    quirks: Quirks = msgspec.field(default_factory=Quirks)
    tools: ToolVocabulary = msgspec.field(default_factory=ToolVocabulary)
    # Ids of the agent's config options, where it has them.
    mode_option: str | None = None
    model_option: str | None = None
    effort_option: str | None = None
    # Config options that would grant rights beside the mode, each with the value that it has in every mode.
    pinned_options: dict[str, str | bool] = {}
    origin: str = ""

    def mode(self, wanted: PermissionMode, strict: bool = False) -> ModeSettings:
        """The settings for a mode. `strict` is for people's own rules: the agent then asks about everything that it can
        be made to ask about, and rules and mode are applied to the answers."""
        if not self.modes:
            return ModeSettings()
        lowered = _lowered(wanted, strict)
        # The nearest that is named and grants no more (P1); among equals the one that was asked for.
        named: list[PermissionMode] = [one for one in self.modes if RANK[one] <= RANK[lowered]]
        if not named:
            where = self.origin or "its file"
            raise Invalid(
                "mode_unmapped",
                f"{self.title} has no setting that grants as little as {wanted}: name one in {where}.",
                agent=self.name,
            )
        known = self.modes[max(named, key=lambda one: (RANK[one], one == lowered))]
        return ModeSettings(mode=known) if isinstance(known, str) else known

    def may_be_in(self, mode: str, wanted: PermissionMode, strict: bool = False) -> bool:
        """Whether the agent may be in a mode of its own when this was asked for: one that stands for it or for less."""
        rank = RANK[_lowered(wanted, strict)]
        return any(self.mode(one).mode == mode for one in self.modes if RANK[one] <= rank)


def _lowered(wanted: PermissionMode, strict: bool) -> PermissionMode:
    return "ask" if strict and RANK[wanted] > RANK["ask"] else wanted
