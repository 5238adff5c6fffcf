"""Tries to write protected paths in every mode, with every tool and every spelling, without approval."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog import load_catalog
from bough.core.policy.decide import Verdict, decide
from bough.core.policy.shell.paths import LONGEST_COMMAND
from bough.core.policy.tool_use.read import read
from bough.model.session import MODES, PermissionMode
from tests.core.policy.policies import rule
from tests.support.server import serving

ASKING: tuple[PermissionMode, ...] = ("default", "ask", "acceptEdits", "auto", "on-failure")
BYPASSING: tuple[PermissionMode, ...] = ("bypassPermissions", "allow-all")
# Relative to the session's folder, which is `~/code/repo`.
PROTECTED = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git",
    "sub/.git/config",
    "HEAD",
    "new/HEAD",
    "bare/config",
    "bare/hooks/post-checkout",
    "bare/objects/info/alternates",
    ".gitmodules",
    ".envrc",
    "sub/.envrc",
    ".bashrc",
    ".zshenv",
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".vs/tasks.vs.json",
    ".teamcity/settings.kts",
    "buildspec.yml",
    ".vscode/settings.json",
    "x.code-workspace",
    ".devcontainer/devcontainer.json",
    ".idea/runConfigurations/a.xml",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".nvim.lua",
    ".husky/pre-commit",
    ".pre-commit-config.yaml",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".circleci/config.yml",
    ".claude/settings.json",
    ".mcp.json",
    ".worktrees/other/a.py",
    "../../.gitconfig",
    "../../.ssh/authorized_keys",
    "../../.profile",
    "../../.config/fish/config.fish",
    "../../.local/bin/tool",
    "../sibling/.git/config",
]
DATA = ["config.toml", "agents/evil.toml", "bough.db", "server.json", "homes/codex/config.toml", ""]
ORDINARY = [
    "a.py",
    "src/head.py",
    "docs/git.md",
    ".gitignore",
    ".github/CODEOWNERS",
    ".vscode/notes.md",
    "config",
    "refs/x",
]


@dataclass
class Machine:
    """A home folder with Bough's data folder, a repository with a session, and another session's worktree."""

    home: Path
    repo: Path
    data: Path

    def use(self, body: dict[str, Any]) -> Any:
        other = str(self.repo / ".worktrees" / "other")
        return read(load_catalog(self.data), "demo", str(self.repo), body, (), [other])

    def judge(self, mode: PermissionMode, body: dict[str, Any], *rules: Any) -> Verdict:
        return decide(mode, self.use(body), rules, [])


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    home = tmp_path / "home"
    repo, data = home / "code" / "repo", home / ".local" / "share" / "bough"
    for folder in (
        repo / ".git" / "hooks",
        repo / "src",
        repo / ".worktrees" / "other",
        data / "agents",
        home / ".ssh",
    ):
        folder.mkdir(parents=True)
    (repo / "bare" / "objects").mkdir(parents=True)
    (repo / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return Machine(home, repo, data)


def edit(path: str | Path) -> dict[str, Any]:
    return {"kind": "edit", "title": "Write", "locations": [{"path": str(path)}]}


def run(command: str) -> dict[str, Any]:
    return {"kind": "execute", "title": command, "args": {"command": command}}


def look(path: str | Path) -> dict[str, Any]:
    return {"kind": "read", "title": "Read", "locations": [{"path": str(path)}]}


def spellings(machine: Machine, path: str) -> list[str]:
    """Returns different spellings of a path that is relative to the session's folder."""
    absolute = os.path.normpath(machine.repo / path)
    folder, name = os.path.split(absolute)
    link = machine.repo / "link"
    if not link.is_symlink():
        link.symlink_to(folder)
    return [
        path,
        absolute,
        f"~/{os.path.relpath(absolute, machine.home)}",
        f"src/../{path}",
        f"./{path}",
        f"link/{name}",
        f"file://{absolute}",
        f"{folder}//{name}",
        absolute.replace("/git", "/GIT").replace(".git", ".Git").replace(".vscode", ".VSCode"),
    ]


@pytest.mark.parametrize("path", PROTECTED)
def test_edits_are_asked_about_in_every_spelling(machine: Machine, path: str) -> None:
    """P3: No mode below bypassPermissions edits a protected path without a person, whatever the spelling."""
    for spelled, mode in itertools.product(spellings(machine, path), ASKING):
        verdict = machine.judge(mode, edit(spelled))
        assert verdict.effect == "ask", (mode, spelled)
    for mode in BYPASSING:
        assert machine.judge(mode, edit(path)).effect == "allow"


def test_a_name_that_is_a_link_is_protected_too(machine: Machine) -> None:
    """P3: A dotfile that leads to an ordinary folder is protected by its name."""
    (machine.home / "dots").mkdir()
    (machine.home / ".zshrc").symlink_to(machine.home / "dots" / "zshrc")
    assert machine.judge("acceptEdits", edit("~/.zshrc")).effect == "ask"
    assert "dotfile" in machine.judge("acceptEdits", edit("~/.vimrc.d/x")).reason


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_are_edited(machine: Machine, path: str) -> None:
    """P3: Names that only look like protected ones are accepted as before."""
    assert machine.judge("acceptEdits", edit(path)).effect == "allow"


WRITES = [
    "echo x > {}",
    "echo x >> {}",
    "echo x >| {}",
    "echo x &> {}",
    "echo x | tee {}",
    "tee -a {} < a",
    "cp a {}",
    "mv a {}",
    "ln -s a {}",
    "ln -sf {} a",
    "sed -i s/a/b/ {}",
    "dd if=a of={}",
    "install -m 755 a {}",
    "sh -c 'echo x > {}'",
    'bash -lc "cp a {}"',
    "env A=b cp a {}",
    "sudo tee {}",
    "true && cp a {}",
    "P={}; cp a $P",
    "python3 -c \"open('{}', 'w')\"",
    "$(cp a {})",
    "rm -rf {}",
    "touch {}",
    "rsync --files-from=a . {}",
    "git -C . config --file={} a.b c",
]


@pytest.mark.parametrize("command", WRITES)
def test_no_wide_rule_allows_a_command_on_protected_paths(machine: Machine, command: str) -> None:
    """P3: A rule that allows commands does not allow those that name a protected path, unless it spells it."""
    allow = rule("allow", kind="execute")
    paths = [".git/hooks/pre-commit", "~/.ssh/authorized_keys", ".github/workflows/ci.yml", ".worktrees/other/a.py"]
    for path, mode in itertools.product(paths, ASKING):
        absolute = os.path.normpath(machine.repo / os.path.expanduser(path))
        for spelled in (path, absolute, f"src/../{path}" if path[0] == "." else path):
            line = command.format(spelled)
            assert machine.judge(mode, run(line), allow).effect == "ask", line


@pytest.mark.parametrize("command", [command for command in WRITES if "git" not in command])
def test_a_wide_rule_allows_a_command_on_other_paths(machine: Machine, command: str) -> None:
    """P3: The same commands are allowed by such a rule if they name no protected path."""
    assert machine.judge("default", run(command.format("a.py")), rule("allow", kind="execute")).effect == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git config core.fsmonitor ./evil",
        "git config --global core.hooksPath /tmp/x",
        "git -C src config core.fsmonitor ./evil",
        "cd src && git config core.editor x",
        "git --git-dir=.git config a.b c",
        "cd .git && echo x > config",
        "cd ~ && echo x > .gitconfig",
        "cd ~/.ssh; cat a >> authorized_keys",
        "echo x > $HOME/.bashrc",
        "echo x > ${HOME}/.bashrc",
        'echo x > .g"i"t/config',
        "echo x > .g\\it/config",
        "cp a .gi?/config",
        "cp a .{git,x}/config",
        "cp a ~/.ss*/authorized_keys",
        "bash <<EOF\ncp a .git/config\nEOF",
    ],
)
def test_indirect_commands(machine: Machine, command: str) -> None:
    """P3: Options, folders, quotes, wildcards and variables do not hide a protected path."""
    assert machine.judge("default", run(command), rule("allow", kind="execute")).effect == "ask"
    assert machine.use(run(command)).protected


@pytest.mark.parametrize(
    "command",
    [
        "git log -1 --format=x --output=.envrc",
        "git diff --output .github/workflows/x.yml",
        "git checkout evil -- .envrc",
        "git -C . restore --source=evil .envrc",
        "git apply --directory=.husky p",
        "git grep -O./evil x .envrc",
        "xxd -r a .envrc",
        "uniq a .envrc",
        "tree -o .envrc",
        "less -o .envrc a",
    ],
)
def test_programs_that_read_and_write(machine: Machine, command: str) -> None:
    """P3: A program that usually reads is asked about where it can write a protected path."""
    assert machine.judge("default", run(command), rule("allow", kind="execute")).effect == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git log --oneline -- .envrc",
        "git -C . diff HEAD~1 .github/workflows/ci.yml",
        "git --no-pager show main:.envrc",
        "git status .husky",
        "git add .github/workflows/ci.yml",
        "git commit -m Change .envrc",
        "git checkout main -- a.py",
        "cat .envrc",
    ],
)
def test_reading_protected_paths(machine: Machine, command: str) -> None:
    """P3: A rule that allows commands allows those that only read protected paths."""
    assert machine.judge("default", run(command), rule("allow", kind="execute")).effect == "allow"


def test_a_rule_that_spells_the_path_allows(machine: Machine) -> None:
    """P3: A person allows a protected path by a rule that names it, and a command by a rule that equals it."""
    workflow = edit(".github/workflows/ci.yml")
    assert machine.judge("default", workflow, rule("allow", path=".github/workflows/*")).effect == "allow"
    assert machine.judge("default", workflow, rule("allow", path="**", kind="edit")).effect == "ask"
    assert machine.judge("acceptEdits", workflow, rule("allow", kind="edit")).effect == "ask"
    exact = run("git config user.name me")
    assert machine.judge("default", exact, rule("allow", command="git config user.name me")).effect == "allow"
    assert machine.judge("default", exact, rule("allow", command="git *")).effect == "ask"
    assert machine.judge("default", run("git log"), rule("allow", command="git *")).effect == "allow"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DATA)
def test_the_data_folder_is_never_touched(machine: Machine, mode: PermissionMode, name: str) -> None:
    """P3: No mode, no rule and no command lets an agent into Bough's data folder."""
    path = str(machine.data / name).rstrip("/")
    relative = os.path.relpath(path, machine.repo)
    everything = [rule("allow", kind=kind, path=f"{machine.data}/**") for kind in ("edit", "read", "delete", "move")]
    for spelled in (path, relative, f"~/.local/share/bough/{name}", f"../../.LOCAL/share/Bough/{name}"):
        assert machine.judge(mode, edit(spelled), *everything).effect == "deny", spelled
        assert machine.judge(mode, {**edit(spelled), "kind": "delete"}, *everything).effect == "deny"
        for command in ("echo x > {}", "rm -r {}", "cp a {}", "cd {} && tee x", "sqlite3 {}", "sh -c 'tee {}'"):
            line = command.format(spelled)
            assert machine.judge(mode, run(line), rule("allow", kind="execute")).effect == "deny", line
    link = machine.repo / "data-link"
    link.symlink_to(machine.data)
    assert machine.judge(mode, edit(f"data-link/{name}")).effect == "deny"
    assert machine.judge(mode, run(f"echo x > data-link/{name}")).effect == "deny"


@pytest.mark.parametrize("mode", BYPASSING)
@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.local/share/bough/server.json",
        "cat $HOME/.local/share/bough/server.json",
        "cat ~/.local/share/b*/server.json",
        "cd ~/.local/share && cat bough/server.json",
        "rm -rf ~/.local",
        "rm -rf ~/.loc*",
        "sudo rm -rf ~/.local/sh*",
        "find ~/.local -delete",
        "find -L ~/.local -type f -exec cat {} +",
        "cp -r ~/.local/share x",
        "cp -r -t x ~/.local",
        "cp -a {~/.local,x}",
        "tar cf x ~/.local",
        "tar -czf x -C ~ .",
        "tar -czf x -C{home} .local",
        "zip -r x.zip ~/.local",
        "rsync -a ~/.local/share/ x",
        "grep -r . ~/.local/share",
        "grep -rne foo ~/.local/share",
        "grep --recursive foo ~/.local",
        "rg foo ~/.local/share",
        "cd ~ && grep -r foo .local",
        "cd ~/.local && grep -r foo",
        "cd ~/.local; find -delete",
        "mv ~/.local/share /tmp/x",
        "chmod -R 777 ~",
        "python3 -c \"print(open('{data}/server.json').read())\"",
        "tar czf x.tgz -C ~/.local/share bough",
        "X=~/.local/share/bough; cat $X/server.json",
    ],
)
def test_commands_on_the_data_folder(machine: Machine, mode: PermissionMode, command: str) -> None:
    """P3: Also in modes that allow everything, commands that name the data folder are denied."""
    assert machine.judge(mode, run(_with_folders(machine, command))).effect == "deny"


def _with_folders(machine: Machine, command: str) -> str:
    return command.replace("{data}", str(machine.data)).replace("{home}", str(machine.home))


@pytest.mark.parametrize(
    "command",
    [
        "grep -r foo .",
        "grep -rn / src",
        "grep -r foo",
        "find -name x -delete",
        "grep foo ~",
        "rg foo",
        "rg / src",
        "find . -name x",
        "find . -name '*.pyc' -delete",
        "find src -type f -exec sed -i s/a/b/ {} +",
        "find ~ -name x",
        "tar cf x src",
        "tar xf x.tgz -C ~/.local",
        "tar cf x -C ~ code",
        "cp -r src ~",
        "cp a ~/.local",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf build/ .cache",
        "zip -r x.zip .",
        "mv a b",
    ],
)
def test_ordinary_commands_on_folders(machine: Machine, command: str) -> None:
    """P3: Commands on folders that do not contain the data folder stay allowed."""
    assert machine.judge("allow-all", run(command)).effect == "allow"


def test_moving_a_folder_above_the_data_folder(machine: Machine) -> None:
    """P3: Deleting or moving a folder takes along what is in it."""
    for kind, path in itertools.product(("delete", "move"), (machine.home, machine.home / ".local")):
        assert machine.judge("allow-all", {**edit(path), "kind": kind}).effect == "deny"


def test_a_neighbor_of_the_data_folder_is_open(machine: Machine) -> None:
    """P3: Names that begin like the data folder's, and commands that say nothing about it, stay allowed."""
    for command in (f"ls {machine.data}-backup", "ls ~/.local/share", "cat a.py", f"ls {machine.data}/tmp/x"):
        assert machine.judge("allow-all", run(command)).effect == "allow", command


@pytest.mark.parametrize("path", ["~/.ssh/id_ed25519", "~/.aws/credentials", "~/.netrc", "~/.claude/.credentials.json"])
def test_reading_secrets_is_asked_about(machine: Machine, path: str) -> None:
    """P3: A rule that allows reading does not allow reading keys and logins."""
    rules = [rule("allow", kind="read"), rule("allow", kind="execute")]
    for mode in ASKING:
        assert machine.judge(mode, look(path), *rules).effect == "ask"
        assert machine.judge(mode, run(f"cat {path}"), *rules).effect == "ask"
        assert machine.judge(mode, look("a.py"), *rules).effect == "allow"
    assert machine.judge("bypassPermissions", look(path)).effect == "allow"
    assert machine.judge("bypassPermissions", look(machine.data / "server.json")).effect == "deny"


def test_tools_of_servers_name_paths_too(machine: Machine) -> None:
    """P3: The arguments of an MCP server's tool are searched for the data folder."""
    body = {"name": "mcp__files__write", "args": {"to": {"file": "~/.local/share/bough/config.toml"}}}
    use = machine.use(body)
    assert use.kind == "mcp"
    assert decide("allow-all", use, [rule("allow", kind="mcp")], []).effect == "deny"


def test_an_always_does_not_outlive_what_it_was_about(machine: Machine) -> None:
    """P3: A command that has come to lead to a protected path is another use than the one a person has allowed."""
    (machine.repo / "out").mkdir()
    before = machine.use(run("cp a out/config")).key
    (machine.repo / "out").rmdir()
    (machine.repo / "out").symlink_to(machine.repo / ".git")
    assert machine.use(run("cp a out/config")).key != before


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto", "bypassPermissions", "allow-all"])
def test_long_commands_are_asked_about(machine: Machine, mode: PermissionMode) -> None:
    """P3: A command that is too long to be read is asked about in every mode, whatever rules allow."""
    command = f"echo {'x ' * LONGEST_COMMAND}"
    allow = rule("allow", kind="execute")
    assert machine.judge(mode, run(command), allow, rule("allow", command="echo *")).effect == "ask"
    assert machine.judge(mode, run(command), rule("deny", kind="execute")).effect == "deny"
    assert machine.judge(mode, run(command), rule("deny", command="rm *")).effect == "ask"
    assert machine.judge("plan", run(command), allow).effect == "deny"


@pytest.mark.parametrize("path", ["a/" * 2000, "x" * 5000, "a/../" * 300])
def test_long_paths_are_asked_about(machine: Machine, path: str) -> None:
    """P3: A path with too many names to be checked is asked about, and many of them take no time."""
    assert "too long to be checked" in machine.judge("acceptEdits", edit(f"{path}b")).reason
    assert machine.judge("allow-all", edit(f"{machine.data}/{path}")).effect == "deny"
    started = time.process_time()
    machine.use({"kind": "edit", "title": "Write", "locations": [{"path": f"{path}{at}"} for at in range(50)]})
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("mode", "prompt"),
    [
        ("acceptEdits", "[[write .git/hooks/pre-commit x]]"),
        ("acceptEdits", "[[write HEAD x]]"),
        ("auto", "[[write .github/workflows/x.yml x]]"),
        ("auto", "[[run echo x > .git/config]]"),
        ("auto", "[[run echo x > ~/.profile]]"),
    ],
)
async def test_the_demo_agent_asks(tmp_path: Path, mode: str, prompt: str) -> None:
    """P3: The agent that comes with Bough leaves protected paths to a person in the modes in which it does not ask."""
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="demo", permissionMode=mode)
        await server.client.prompt(session["id"], prompt)
        assert "touches" in (await server.client.approval(session["id"]))["reason"]


@pytest.mark.parametrize(("mode", "prompt"), [("acceptEdits", "[[write a.txt x]]"), ("auto", "[[run echo x > b.txt]]")])
async def test_the_demo_agent_does_not_ask_about_other_paths(tmp_path: Path, mode: str, prompt: str) -> None:
    """P3: In the same modes, it writes other files without asking."""
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="demo", permissionMode=mode)
        task = await server.client.prompt(session["id"], prompt)
        assert (await server.client.wait_task(task))["status"] == "completed"


@pytest.mark.parametrize("prompt", ["[[write {data}/config.toml x]]", "[[run echo x > {data}/config.toml]]"])
async def test_the_data_folder_at_work(tmp_path: Path, prompt: str) -> None:
    """P3: In a mode that allows everything, an agent's question about the data folder is denied without a person."""
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="demo", permissionMode="bypassPermissions")
        data = server.services.settings.data_path
        task = await server.client.prompt(session["id"], prompt.replace("{data}", str(data)))
        await server.client.wait_task(task)
        assert not (data / "config.toml").exists()
        (row,) = (await server.client.get(f"/api/approvals?sessionId={session['id']}"))["approvals"]
        assert (row["status"], "Bough's data folder" in row["reason"]) == ("denied", True)


async def test_nobody_is_no_person(tmp_path: Path) -> None:
    """P4: An unattended session that allows what nobody answers does not allow protected paths."""
    async with serving(tmp_path, approval_timeout=0.05 / 60) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="demo", permissionMode="acceptEdits", headless="allow")
        await server.client.wait_task(await server.client.prompt(session["id"], "[[write .envrc x]]"))
        assert not (Path(session["cwd"]) / ".envrc").exists()
        await server.client.wait_task(await server.client.prompt(session["id"], "[[run touch b.txt]]"))
        assert (Path(session["cwd"]) / "b.txt").exists()
