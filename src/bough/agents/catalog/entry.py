"""Defines the fields of a catalog file: how to find and start an agent, its modes, and how it differs from others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bough.agents.catalog.conversation_files import ConversationFiles
from bough.agents.catalog.limit_vocabulary import LimitVocabulary
from bough.agents.catalog.question_vocabulary import QuestionVocabulary
from bough.agents.catalog.steering import SteeringRequest
from bough.agents.catalog.tool_vocabulary import ToolVocabulary
from bough.errors import Invalid
from bough.model.session import RANK, PermissionMode

UsageMeaning = Literal["turn", "session", "call", "none"]


class _Table(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    pass


class Package(_Table):
    """The npm package of an agent."""

    npm: str
    version: str
    # The program in the package, if it is not the first word of the entry's command.
    bin: str = ""

    @property
    def pinned(self) -> str:
        """The package with its version, as npm takes it."""
        return f"{self.npm}@{self.version}"


class Login(_Table):
    """Says how to tell whether an agent has a key or an account, and what to do if it has none."""

    env: list[str] = []
    files: list[str] = []
    # Paths that hold keys or accounts, as patterns for the names at the end of a path, without case. A person decides
    # about reading them.
    secrets: list[str] = []
    # Files that the agent also has without a login, each with regular expressions, one of which a login makes match.
    contents: dict[str, list[str]] = {}
    # Further variables of the server that the agent inherits, by the variable that makes it need them.
    also: dict[str, list[str]] = {}
    # The user's settings files that name variables with keys, each with regular expressions. Their group `variable`
    # holds a name, or several in quotes, and the agent inherits these variables.
    named_in: dict[str, list[str]] = {}
    # The agent's own program that logs a person in, for `bough agents login`.
    command: list[str] = []
    how: str = ""


class ModeSettings(_Table):
    """The agent's own settings for one of Bough's permission modes."""

    # The agent's own mode, set before each prompt that needs it. Empty leaves the agent's mode alone.
    mode: str = ""
    # The settings to start it with, by their name below `[start]`. Changing them restarts the agent.
    start: str = ""
    note: str = ""


class StartSettings(_Table):
    """Settings that an agent reads only when it starts or opens a session."""

    env: dict[str, str] = {}
    # Variables that hold JSON. They are merged over the user's own values.
    json_env: dict[str, dict[str, Any]] = {}
    args: list[str] = []
    # `_meta` of session/new, session/load, session/resume and session/fork.
    meta: dict[str, Any] = {}


class SettingsFolder(_Table):
    """A settings folder that Bough makes for an agent whose rights can be set only by files.

    The user's settings are merged with Bough's or linked. Everything else in the user's folder is left out.
    """

    # The variable that points the agent to the folder, and the folder that it uses without the variable. Both are
    # empty if only arguments name the folder.
    variable: str = ""
    user: str = ""
    link: list[str] = []
    # Files of the user's that are copied at each start, so that a sandbox can keep them read-only.
    copy: list[str] = []
    # File name → the table to merge over the user's.
    merge: dict[str, dict[str, Any]] = {}
    # File name → the user's keys to leave out.
    drop: dict[str, list[str]] = {}
    # Files that Bough adds: rules and programs.
    files: dict[str, str] = {}
    programs: dict[str, list[str]] = {}


class SandboxNeeds(_Table):
    """An agent's needs in its sandbox: its own files and its model's hosts. `~` and variables in paths are expanded
    as the agent sees them."""

    # Files and folders that the agent writes: conversations, caches, its login. A name that ends like a file's
    # (`.json`, `.toml` and the like) is a file. Missing folders and JSON files are created.
    write: list[str] = []
    # Files of which the agent writes a copy of its own, which is gone with its process: they mix what the agent notes
    # with settings that later agents obey.
    copy: list[str] = []
    # Folders in which only the paths of `write` keep what the agent writes. Everything else that exists there is
    # read-only, and what is new is gone with the agent's process.
    closed: list[str] = []
    # Folders of them that are empty at first and that no other agent sees, because the agent runs what is in them.
    private: list[str] = []
    # Parts of them that stay read-only, because the agent runs what they say outside of the sandbox, too.
    protect: list[str] = []
    # Whether an approved plan is carried out in the same turn. The mode `plan` then keeps the folder writable.
    plans_continue: bool = False
    # Hosts that it may reach in the strict profile: `host`, `*.domain`, either with `:port`.
    hosts: list[str] = []
    # Variables that hold the address of another model server, whose host is then allowed, too.
    host_variables: list[str] = []
    # Variables in the strict profile, unless they are set: they keep the agent from reaching hosts that it can do
    # without, about which people would be asked.
    strict_env: dict[str, str] = {}

    def model_urls(self, env: Mapping[str, str]) -> list[str]:
        """Returns the addresses of model servers that an environment names."""
        return [env[name] for name in self.host_variables if env.get(name)]


class RepositoryFiles(_Table):
    """Files in a repository that would give an agent rights or run code."""

    # Globs of files that need a person's approval before the agent starts there.
    ask: list[str] = []
    # Globs of files that make the agent start with `restrict_env`, which keeps it from reading them.
    restrict: list[str] = []
    restrict_env: dict[str, str] = {}
    restrict_note: str = ""
    # Instructions that the agent then does not read itself, so that Bough passes them on.
    restrict_instructions: list[str] = []
    # Instructions that Bough always passes on, because the agent is kept from reading them itself.
    instructions: list[str] = []
    # Files and folders that the agent takes rights from. Edits of them always ask, whichever agent makes them. Each is
    # one name or several consecutive ones, with wildcards, at any depth: `.claude`, `.github/copilot*`.
    protect: list[str] = []


class Corrections(_Table):
    """Measured capabilities, where the agent announces something else."""

    load: bool | None = None
    resume: bool | None = None
    fork: bool | None = None
    stdio: bool = True
    http: bool | None = None
    sse: bool | None = None


class Quirks(_Table):
    """Behavior that differs from other agents."""

    # A running command survives the cancellation of its turn, so Bough ends its process.
    leaves_commands: bool = False
    # Whether it can fork a conversation into another folder.
    fork_elsewhere: bool = False
    # Two simultaneous first starts in a new settings folder fail, so Bough starts it alone.
    start_alone: bool = False
    # Whether it can take reports of child sessions. An agent that runs every prompt literally cannot.
    takes_reports: bool = True
    # The scope of the tokens in the answer to a prompt.
    usage: UsageMeaning = "turn"
    # Whether the cost of a copied conversation begins with that of its origin; implied if `usage` is "session".
    forks_keep_cost: bool = False
    # Regular expressions for the final text of a turn that seems to end well but has failed.
    failures: list[str] = []
    # The same for `_meta` of its updates, as `path.to.field=value`.
    failure_meta: str = ""
    # Regular expressions for the final text of such a turn that mean a missing or wrong key. A group `variable` holds
    # the environment variable that the agent misses.
    unauthenticated: list[str] = []
    # The same for errors, where the agent has no error code for it.
    unauthorized: list[str] = []
    # Regular expressions for errors that mean that a process inside the agent has died. Bough then starts the agent
    # again, although its own process still runs.
    broken: list[str] = []
    # Regular expressions for text chunks that are not meant for people and are left out.
    noise: list[str] = []
    # Names of its tools that change its mode, whatever kind it reports for them.
    mode_tools: list[str] = []
    # Whether it stays in a sandbox even in the mode that never asks. Its requests then are to leave the sandbox.
    sandboxed: bool = False


class ExamplePrompt(_Table):
    """A prompt that the page offers in a new session of the agent."""

    name: str
    prompt: str


class TourPrompts(_Table):
    """The prompts of the tour's steps, for an agent that can play the tour without a key."""

    # Edits a file and answers.
    session: str
    # Runs a command, about which a person is asked.
    approval: str
    fork: str
    child: str
    # Takes long enough for a side question to be asked meanwhile.
    long_turn: str
    side_question: str


class RegistryOrigin(_Table):
    """The entry of an agent registry that a file was made from. Nothing about such an agent was measured."""

    id: str
    version: str
    # How it is started: `npx` and `uvx` download the pinned version, `binary` is an unpacked archive.
    distribution: Literal["npx", "uvx", "binary"]
    license: str = ""
    repository: str = ""


class CatalogEntry(_Table):
    """One agent. Values may contain placeholders:

    - `{python}`: the interpreter that runs Bough
    - `{data}`: Bough's data folder
    - `{home}`: the folder that `[home]` describes
    - `{cwd}`: the session's folder
    """

    name: str
    title: str
    command: list[str]
    description: str = ""
    # Its short name, which some of Bough's tools show instead of its name.
    short_name: str = ""
    # Whether it is part of Bough and needs neither an installation nor a key.
    comes_with_bough: bool = False
    # The default agent is the one with the lowest number that is installed and set up.
    preference: int | None = None
    env: dict[str, str] = {}
    # Variables of the server that the agent inherits, besides the usual ones and those that other fields name. `*`
    # stands for any characters.
    inherit: list[str] = []
    # Variables of the server or a session that are hidden from the agent, in addition to Bough's own.
    hide: list[str] = []
    # How to install it, for people who do not have it.
    install: str = ""
    package: Package | None = None
    # The entry of an agent registry that `bough agents add` made the file from.
    registry: RegistryOrigin | None = None
    login: Login = msgspec.field(default_factory=Login)
    # Whether load or resume is known to keep the conversation. Only then may its process be suspended.
    resume: bool = False
    # Bough's permission mode → the agent's settings. The agent is not used in modes that are missing here.
    modes: dict[PermissionMode, ModeSettings | str] = {}
    # The mode of a session whose creator chose none.
    default_mode: PermissionMode = "acceptEdits"
    start: dict[str, StartSettings] = {}
    home: SettingsFolder | None = None
    repository: RepositoryFiles = msgspec.field(default_factory=RepositoryFiles)
    sandbox: SandboxNeeds = msgspec.field(default_factory=SandboxNeeds)
    corrections: Corrections = msgspec.field(default_factory=Corrections)
    quirks: Quirks = msgspec.field(default_factory=Quirks)
    tools: ToolVocabulary = msgspec.field(default_factory=ToolVocabulary)
    questions: QuestionVocabulary = msgspec.field(default_factory=QuestionVocabulary)
    limits: LimitVocabulary = msgspec.field(default_factory=LimitVocabulary)
    steering: SteeringRequest = msgspec.field(default_factory=SteeringRequest)
    conversations: ConversationFiles = msgspec.field(default_factory=ConversationFiles)
    # Ids of the agent's config options, if it has them.
    mode_option: str | None = None
    model_option: str | None = None
    effort_option: str | None = None
    # Config options that would grant rights beside the mode, each with the value that it keeps in every mode.
    pinned_options: dict[str, str | bool] = {}
    # Prompts that the page offers in a new session.
    examples: list[ExamplePrompt] = []
    # The page's tour is played by the first agent that has this.
    tour: TourPrompts | None = None
    origin: str = ""

    def mode(self, requested: PermissionMode, strict: bool = False) -> ModeSettings:
        """Returns the agent's settings for a mode. Raises `Invalid` if no setting grants as little.

        With `strict`, for people's own rules, the agent asks about as much as possible. Bough then applies the rules
        and the mode to its questions.
        """
        if not self.modes:
            return ModeSettings()
        effective = _effective(requested, strict)
        # The nearest mode that grants no more (P1); among equals the requested one.
        candidates: list[PermissionMode] = [mode for mode in self.modes if RANK[mode] <= RANK[effective]]
        if not candidates:
            file = self.origin or "its file"
            raise Invalid(
                "mode_unmapped",
                f"{self.title} has no setting that grants as little as {requested}. Add one to {file}.",
                agent=self.name,
            )
        settings = self.modes[max(candidates, key=lambda mode: (RANK[mode], mode == effective))]
        return ModeSettings(mode=settings) if isinstance(settings, str) else settings

    def may_be_in(self, mode: str, requested: PermissionMode, strict: bool = False) -> bool:
        """Returns whether one of the agent's own modes grants no more than the requested permission mode."""
        rank = RANK[_effective(requested, strict)]
        return any(self.mode(name).mode == mode for name in self.modes if RANK[name] <= rank)


def _effective(requested: PermissionMode, strict: bool) -> PermissionMode:
    return "ask" if strict and RANK[requested] > RANK["ask"] else requested
