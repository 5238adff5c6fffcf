"""Attacks on the files that an agent shares with later sessions and with the user's own agents: a confined agent writes
its conversations and its login, but no settings that others obey."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from bough.agents.catalog import load_catalog
from bough.agents.catalog.entry import ModeSettings
from bough.agents.catalog.prepare import prepare
from bough.agents.sandbox.copies import FOLDER, NEEDED_FOR, copied
from bough.agents.sandbox.gather import BoxRequest, box_env, gather
from bough.agents.sandbox.profile import arguments
from tests.attacks.box_agents import available, needs_sandbox
from tests.support.repos import make_repo

# What later sessions or the user's own agent would obey or run. A name that ends with a slash is a folder.
SETTINGS = {
    "claude-code": (
        *("~/.claude.json", "~/.claude/settings.json", "~/.claude/settings.local.json"),
        *("~/.claude/CLAUDE.md", "~/.claude/hooks/", "~/.claude/plugins/", "~/.claude/skills/", "~/.claude/agents/"),
        *("~/.claude/shell-snapshots/", "~/.claude/output-styles/"),
    ),
    "codex": (
        *("$CODEX_HOME/config.toml", "$CODEX_HOME/codex", "$CODEX_HOME/AGENTS.md", "$CODEX_HOME/AGENTS.override.md"),
        *("$CODEX_HOME/.env", "$CODEX_HOME/hooks.json", "$CODEX_HOME/rules/", "$CODEX_HOME/skills/"),
        *("$CODEX_HOME/shell_snapshots/", "$CODEX_HOME/tmp/", "~/.codex/config.toml", "~/.codex/AGENTS.md"),
    ),
    "gemini": (
        *("~/.gemini/settings.json", "~/.gemini/GEMINI.md", "~/.gemini/trustedFolders.json"),
        *("~/.gemini/commands/", "~/.gemini/extensions/", "~/.gemini/policies/", "~/.gemini/agents/"),
    ),
    "opencode": (
        *("~/.config/opencode/opencode.json", "~/.config/opencode/opencode.jsonc", "~/.config/opencode/config.json"),
        *("~/.config/opencode/plugin/", "~/.config/opencode/tool/", "~/.config/opencode/agent/"),
        *("~/.config/opencode/commands/", "~/.config/opencode/AGENTS.md"),
    ),
    "copilot": ("~/.copilot/mcp-config.json", "~/.copilot/hooks/", "~/.copilot/agents/", "~/.copilot/skills/"),
    "qwen": ("~/.qwen/settings.json", "~/.qwen/extensions/", "~/.qwen/agents/"),
}
# What must outlive the process: conversations and renewed logins.
KEPT = {
    "claude-code": ("~/.claude/projects/x/talk.jsonl", "~/.claude/.credentials.json"),
    "codex": ("$CODEX_HOME/sessions/talk.jsonl", "$CODEX_HOME/state.sqlite", "~/.codex/auth.json"),
    "gemini": ("~/.gemini/tmp/x/talk.json", "~/.gemini/oauth_creds.json"),
    "opencode": ("~/.local/share/opencode/talk.db", "~/.local/share/opencode/auth.json"),
    "copilot": ("~/.copilot/session-state/talk", "~/.copilot/config.json"),
    "qwen": ("~/.qwen/tmp/talk", "~/.qwen/oauth_creds.json"),
}
WRITE = """
for path in "$@"; do
    mkdir -p "$(dirname "$path")"
    echo "written evil" > "$path" || { mv "$path" "$path.old" && echo "written evil" > "$path"; }
    rm -f "$path.new"; echo "written evil" > "$path.new" && mv -f "$path.new" "$path"
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
        return Path(f"{name}evil" if name.endswith("/") else name)

    def write(self, *names: str) -> None:
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
                state=prepared.state,
                copied_state=prepared.copied_state,
                private_state=prepared.private_state,
                protected_state=prepared.protected_state,
                readable=prepared.readable,
            )
        )
        assert available.program is not None
        paths = [str(self.path(name)) for name in names]
        command = [*arguments(available.program, box), "--", "sh", "-c", WRITE, "sh", *paths]
        env = box_env(prepared.env, self.data)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.stdout == "done\n", done.stderr


@needs_sandbox
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("known", [True, False], ids=["existing", "missing"])
def test_settings_are_not_written(tmp_path: Path, name: str, known: bool) -> None:
    """S6: Neither existing settings nor missing ones become the agent's."""
    agent = Agent(tmp_path, name)
    if known:
        for setting in SETTINGS[name]:
            path = Path(setting.replace("~", str(agent.home)))
            if setting.startswith("~") and not setting.endswith("/"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("" if path.suffix == ".toml" else "{}\n")
    agent.write(*SETTINGS[name])
    written = [setting for setting in SETTINGS[name] if _is_evil(agent.path(setting))]
    assert written == []


@needs_sandbox
@pytest.mark.parametrize("name", KEPT)
def test_conversations_and_logins_are_kept(tmp_path: Path, name: str) -> None:
    """S6: What the agent must remember is written outside the box, too."""
    agent = Agent(tmp_path, name)
    for login in ("~/.codex/auth.json",):
        path = Path(login.replace("~", str(agent.home)))
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    agent.write(*KEPT[name])
    assert all(_is_evil(agent.path(path)) for path in KEPT[name])


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


def _is_evil(path: Path) -> bool:
    return path.is_file() and "evil" in path.read_text()
