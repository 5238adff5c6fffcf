"""Attacks on the files that an agent shares with later sessions and with the user's own agents: a confined agent writes
its conversations and its login, but no settings that others obey."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from bough.agents.catalog import load_catalog
from bough.agents.catalog.entry import ModeSettings
from bough.agents.catalog.prepare import folder_name, prepare
from bough.agents.sandbox.box_paths import BoxRequest, box_env, gather
from bough.agents.sandbox.bwrap_arguments import arguments
from bough.agents.sandbox.private_copies import FOLDER, NEEDED_FOR, copied
from bough.core.live_agents.start.confinement import own_files
from tests.attacks.sandbox.box_agents import available, needs_sandbox
from tests.support.repos import make_repo

# The folder of each agent in the home folder, and names in it that the agents' programs know. A name that ends with a
# slash is a folder.
NAMES = {
    "claude-code": (
        "~/.claude",
        *("CLAUDE.md", "settings.json", "settings.local.json", "scheduled_tasks.json", "launch.json", "daemon.json"),
        *(
            "loop.md",
            "remote-settings.json",
            "policy-limits.json",
            "cowork_settings.json",
            ".config.json",
            "history.jsonl",
        ),
        *("agents/", "backups/", "commands/", "cowork_plugins/", "daemon/", "hooks/", "ide/", "jobs/", "local/"),
        *("mcp-skill-archives/", "output-styles/", "plugins/", "projects/", "routines/", "rules/", "seed-admin/"),
        *("session-env/", "shell-snapshots/", "skills/", "state/", "statsig/", "workflows/"),
    ),
    "codex": ("~/.codex", "config.toml", "AGENTS.md", "hooks.json", "rules/", "skills/", "prompts/"),
    "gemini": (
        "~/.gemini",
        *("settings.json", ".env", "GEMINI.md", "trustedFolders.json", "trusted_hooks.json", "keybindings.json"),
        *(
            "acknowledgments/",
            "agents/",
            "bin/",
            "commands/",
            "extensions/",
            "history/",
            "policies/",
            "skills/",
            "tmp/",
        ),
    ),
    "opencode": (
        "~/.config/opencode",
        *("opencode.json", "opencode.jsonc", "config.json", "package.json", "AGENTS.md", "tui.json"),
        *("agent/", "command/", "mode/", "node_modules/", "plugin/", "skill/", "themes/", "tool/"),
    ),
    "copilot": (
        "~/.copilot",
        *("config.json", "settings.json", "mcp-config.json", "copilot-instructions.md", "permissions-config.json"),
        *("agents/", "hooks/", "pkg/", "plugins/", "skills/"),
    ),
    "qwen": (
        "~/.qwen",
        *("settings.json", ".env", "QWEN.md", "memory.md", "trustedFolders.json", "mcpApprovals.json"),
        *("agents/", "bin/", "channels/", "commands/", "extensions/", "skills/", "workflows/", "worktrees/"),
    ),
}
# The only paths in the home folder that a confined agent changes: conversations and logins.
ALLOWED = {
    "claude-code": (
        r"\.claude/(projects/{cwd}|todos|tasks|plans|file-history)(?!/memory)(/.*)?",
        r"\.claude/\.credentials\.json",
        r"\.cache/claude-cli-nodejs/.*",
    ),
    "codex": (r"\.codex/auth\.json",),
    "gemini": (r"\.gemini/(oauth_creds|google_accounts)\.json",),
    "opencode": (r"\.local/share/opencode/(?!bin/|repos/|snapshot/).*",),
    "copilot": (r"\.copilot/(history-)?session-state/.*",),
    "qwen": (
        r"\.qwen/(projects/{cwd}/(chats|subagents)|file-history|plans|todos)/.*",
        r"\.qwen/oauth_creds\.json",
    ),
}
# In Bough's own folder for the agent, which all sessions share.
SHARED = (
    *("config.toml", "codex", "AGENTS.md", "AGENTS.override.md", ".env", "hooks.json", "managed_config.toml"),
    *("requirements.toml", "environments.toml", "rules/", "skills/", "agents/", "memories/", "packages/"),
    *("shell_snapshots/", "tmp/"),
)
# What must outlive the process: conversations and renewed logins, which exist before.
KEPT = {
    "claude-code": ("~/.claude/projects/{cwd}/talk.jsonl", "~/.claude/.credentials.json"),
    "codex": ("$CODEX_HOME/sessions/talk.jsonl", "$CODEX_HOME/state.sqlite", "~/.codex/auth.json"),
    "gemini": ("~/.gemini/oauth_creds.json",),
    "opencode": ("~/.local/share/opencode/talk.db", "~/.local/share/opencode/auth.json"),
    "copilot": ("~/.copilot/session-state/talk",),
    "qwen": ("~/.qwen/projects/{cwd}/chats/talk", "~/.qwen/oauth_creds.json"),
}
LOGINS = ("~/.claude/.credentials.json", "~/.codex/auth.json", "~/.gemini/oauth_creds.json", "~/.qwen/oauth_creds.json")
# Agents replace a file, and if that fails write into it.
KEEP = """
for path in "$@"; do
    mkdir -p "$(dirname "$path")"
    { echo "written evil" > "$path.tmp" && mv -f "$path.tmp" "$path"; } || echo "written evil" > "$path"
done
echo done
"""
WRITE = """
for path in "$@"; do
    mkdir -p "$(dirname "$path")"
    echo "written evil" > "$path" || { mv "$path" "$path.old" && echo "written evil" > "$path"; }
    rm -f "$path.new"; echo "written evil" > "$path.new" && mv -f "$path.new" "$path"
done
# Everything that there is, everywhere below the home folder, and new names everywhere.
find "$HOME" -mindepth 1 | while read -r path; do
    if [ -d "$path" ]; then
        echo "written evil" > "$path/evil"; mkdir -p "$path/evil.d"; echo "written evil" > "$path/evil.d/evil"
    else
        echo "written evil" >> "$path"; rm -f "$path"; echo "written evil" > "$path"; ln -sf /tmp "$path.link"
    fi
done
find "$HOME" -mindepth 2 -maxdepth 4 -type d | while read -r path; do
    mv "$path" "$path.moved" && mkdir "$path" && echo "written evil" > "$path/evil"
done
echo done
"""


class Agent:
    """A shell in the box of one agent of the catalog."""

    def __init__(self, folder: Path, name: str) -> None:
        self.home, self.data = folder / "home", folder / "data"
        self.home.mkdir()
        self.repo = make_repo(folder / "repo")
        entry = load_catalog(self.data).get(name)
        self.entry = msgspec.structs.replace(entry, command=["sh"], package=None)
        self.env: dict[str, str] = {}

    @property
    def codex(self) -> Path:
        return Path(self.env["CODEX_HOME"])

    def path(self, name: str) -> Path:
        name = name.replace("~", str(self.home)).replace("$CODEX_HOME", self.env.get("CODEX_HOME", ""))
        name = name.replace("{cwd}", folder_name(str(self.repo)))
        return Path(f"{name}evil" if name.endswith("/") else name)

    def write(self, *names: str, script: str = WRITE) -> None:
        """Starts the box and writes to all paths in it, in several ways."""
        own = {"HOME": str(self.home)}
        prepared = prepare(self.entry, self.data, str(self.repo), ModeSettings(), own)
        self.env = prepared.env
        box = gather(
            BoxRequest(
                cwd=str(self.repo),
                read_only=False,
                data=self.data,
                env=prepared.env,
                command=["sh"],
                own=own_files(prepared),
                readable=prepared.readable,
            )
        )
        assert available.program is not None
        paths = [str(self.path(name)) for name in names]
        command = [*arguments(available.program, box), "--", "sh", "-c", script, "sh", *paths]
        env = box_env(prepared.env, self.data)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.stdout == "done\n", done.stderr


@needs_sandbox
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [True, False], ids=["existing", "missing"])
def test_nothing_but_conversations_and_logins_is_written(tmp_path: Path, name: str, known: bool) -> None:
    """S6: Whatever a confined agent creates, changes, moves or removes: of the home folder, only what it must keep is
    changed."""
    agent = Agent(tmp_path, name)
    folder, *names = NAMES[name]
    if known:
        for setting in names:
            path = agent.path(f"{folder}/{setting}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("kept\n" if path.suffix != ".toml" else "")
        agent.path(f"{folder}/link").symlink_to(agent.path(f"{folder}/{names[0]}"))
    # The first start creates the folders that it needs.
    agent.write(script="echo done")
    before = _contents(agent.home)
    agent.write(*(f"{folder}/{setting}" for setting in names))
    after = _contents(agent.home)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    allowed = [pattern.replace("{cwd}", folder_name(str(agent.repo))) for pattern in ALLOWED[name]]
    assert {path for path in changed if not any(re.fullmatch(pattern, path) for pattern in allowed)} == set()


@needs_sandbox
@pytest.mark.parametrize("name", NAMES)
def test_a_start_creates_no_settings(tmp_path: Path, name: str) -> None:
    """S6: A start leaves nothing in the home folder that the user's own agent could take for settings: only folders,
    and files that say nothing."""
    agent = Agent(tmp_path, name)
    agent.write(script="echo done")
    assert {path: text for path, text in _contents(agent.home).items() if text not in ("folder", "{}\n")} == {}


@needs_sandbox
def test_later_sessions_obey_nothing(tmp_path: Path) -> None:
    """S6: In the folder that all sessions of Codex share, neither existing settings nor missing ones become the
    agent's."""
    agent = Agent(tmp_path, "codex")
    agent.write()
    agent.write(*(f"$CODEX_HOME/{setting}" for setting in SHARED))
    assert [setting for setting in SHARED if _is_evil(agent.path(f"$CODEX_HOME/{setting}"))] == []


@needs_sandbox
@pytest.mark.parametrize("name", KEPT)
def test_conversations_and_logins_are_kept(tmp_path: Path, name: str) -> None:
    """S6: What the agent must remember is written outside the box, too, also if it replaces the files."""
    agent = Agent(tmp_path, name)
    for login in LOGINS:
        path = agent.path(login)
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    agent.write(script="echo done")
    agent.write(*KEPT[name], script=KEEP)
    assert [path for path in KEPT[name] if not _is_evil(agent.path(path))] == []


@needs_sandbox
def test_linked_settings_are_seen_and_kept(tmp_path: Path) -> None:
    """S6: Settings that are links into another folder, and a linked folder of settings, are read as they are."""
    agent = Agent(tmp_path, "claude-code")
    real = agent.home / "dotfiles"
    (real / "skills").mkdir(parents=True)
    (real / "projects").mkdir()
    (real / "settings.json").write_text("kept\n")
    (agent.home / "elsewhere").mkdir()
    (agent.home / ".claude").symlink_to("elsewhere")
    for name in ("settings.json", "skills", "projects"):
        (agent.home / "elsewhere" / name).symlink_to(real / name)
    agent.write("~/.claude/settings.json", "~/.claude/skills/", "~/.claude/projects/{cwd}/talk")
    assert (real / "settings.json").read_text() == "kept\n"
    assert list((real / "skills").iterdir()) == []
    assert _is_evil(real / "projects" / folder_name(str(agent.repo)) / "talk")
    agent.write(script='cat "$HOME/.claude/settings.json" >&2 && ls "$HOME/.claude/skills" && echo done')


@needs_sandbox
def test_the_users_skills_come_back(tmp_path: Path) -> None:
    """S6: A folder of instructions that an agent put in place of the link to the user's does not last."""
    agent = Agent(tmp_path, "codex")
    skills = agent.home / ".codex" / "skills"
    skills.mkdir(parents=True)
    agent.write()
    (agent.codex / "skills").unlink()
    (agent.codex / "skills").mkdir()
    (agent.codex / "skills" / "evil").write_text("evil")
    agent.write()
    assert os.readlink(agent.codex / "skills") == str(skills)
    assert list(agent.codex.rglob("evil")) == []


@needs_sandbox
def test_settings_stay_closed_when_the_user_changes_theirs(tmp_path: Path) -> None:
    """S6: The next start of any session writes the user's new settings into the file itself, so that it stays read-only
    in running boxes."""
    agent = Agent(tmp_path, "codex")
    settings = agent.home / ".codex" / "config.toml"
    settings.parent.mkdir()
    before: list[int] = []
    for text in ('model = "a-long-name"\n', 'model = "b"\n'):
        settings.write_text(text)
        (settings.parent / "AGENTS.md").write_text(text)
        agent.write()
        files = [agent.codex / "config.toml", agent.codex / "AGENTS.md"]
        assert all(text in file.read_text() for file in files)
        assert "long" in text or all("long" not in file.read_text() for file in files)
        now = [file.stat().st_ino for file in files]
        before = before or now
        assert now == before


def test_old_copies_are_removed(tmp_path: Path) -> None:
    """S6: The copies of settings do not pile up."""
    file = tmp_path / "settings.json"
    file.write_text("{}")
    for _ in range(3):
        [(copy, path)] = copied([str(file)], str(tmp_path))
        assert path == str(file) and Path(copy).read_text() == "{}"
        os.utime(copy, (0, os.stat(copy).st_mtime - NEEDED_FOR - 1))
    assert len(os.listdir(tmp_path / FOLDER)) == 1
    shutil.rmtree(tmp_path / FOLDER)


@needs_sandbox
def test_a_copy_is_one_boxs_own(tmp_path: Path) -> None:
    """S6: An agent reads the user's notes and changes its copy; neither the user's file nor the next box has the
    change, and nobody else can read the copy."""
    agent = Agent(tmp_path, "claude-code")
    notes = agent.home / ".claude.json"
    notes.write_text("notes\n")
    seen = agent.repo / "seen"
    for _ in range(2):
        change = "echo evil > ~/.claude.json && grep -q evil ~/.claude.json"
        agent.write(script=f"cat ~/.claude.json > {seen} && {change} && echo done")
        assert (seen.read_text(), notes.read_text()) == ("notes\n", "notes\n")
    copies = agent.data / FOLDER
    assert copies.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in copies.iterdir()} == {0o600}


def test_only_files_are_copied(tmp_path: Path) -> None:
    """S6: A pipe or folder in the place of a file is left out and makes nobody wait; so is a link, or a file behind
    one, where agents write: it would copy what the box hides. Links of the user are followed."""
    (tmp_path / "key").write_text("key")
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    (work / "file").write_text("mine")
    os.mkfifo(work / "pipe")
    (work / "link").symlink_to(tmp_path / "key")
    (work / "behind").symlink_to(tmp_path)
    (tmp_path / "mine").symlink_to(tmp_path / "key")
    names = [work / "folder", work / "pipe", work / "link", work / "behind" / "key", work / "gone", work / "file"]
    pairs = copied([*map(str, names), str(tmp_path / "mine")], str(tmp_path / "data"), (str(work),))
    assert [(Path(copy).read_text(), path) for copy, path in pairs] == [
        ("mine", str(work / "file")),
        ("key", str(tmp_path / "mine")),
    ]


def _is_evil(path: Path) -> bool:
    return path.is_file() and "evil" in path.read_text()


def _contents(folder: Path) -> dict[str, str]:
    """Returns everything below a folder with what it is or says."""
    contents: dict[str, str] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            contents[name] = f"link to {os.readlink(path)}"
        else:
            contents[name] = "folder" if path.is_dir() else path.read_text()
    return contents
