"""Attacks by commands of an agent that may do everything in its mode: the sandbox keeps it inside its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.agents.sandbox.detect import Availability, SandboxProbe
from tests.attacks.sandbox.box_agents import Boxed, disguised, needs_sandbox
from tests.core.helpers import messages
from tests.support.repos import git
from tests.support.server import serving


@needs_sandbox
async def test_an_agent_works_in_its_folder(boxed: Boxed) -> None:
    """S6: It edits, runs commands and commits, and its session says that it is confined."""
    session = await boxed.session()
    await boxed.client.ask(session, "[[write new.txt Hello]]")
    assert (boxed.repo / "new.txt").read_text() == "Hello"
    output = await boxed.run(session, "git add new.txt && git commit -qm Work && git checkout -q -b side && echo done")
    assert output == "done\n"
    assert git(boxed.repo, "log", "-1", "--format=%s %an", "side") == "Work Ada\n"
    row = await boxed.client.get(f"/api/sessions/{session}")
    assert (row["confinement"], row["unconfinedReason"]) == ("workspace", None)


@needs_sandbox
@pytest.mark.parametrize(
    "name", [".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/token", ".netrc", ".kube/config"]
)
async def test_an_agent_sees_no_credentials(boxed: Boxed, name: str) -> None:
    """S6: Keys of machines and clouds look as if there were none."""
    session = await boxed.session()
    assert "secret" not in await boxed.run(session, f"cat ~/{name}; true")
    assert (boxed.home / name).read_text().startswith("secret")


@needs_sandbox
@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("XDG_CONFIG_HOME", "", "gh/hosts.yml"),
        ("XDG_DATA_HOME", "", "keyrings/login.keyring"),
        ("AWS_SHARED_CREDENTIALS_FILE", "cloud/keys", "cloud/keys"),
        ("KUBECONFIG", "one", "one"),
        ("GNUPGHOME", "gpg", "gpg/private.key"),
        ("CARGO_HOME", "cargo", "cargo/credentials.toml"),
    ],
)
async def test_an_agent_sees_no_credentials_elsewhere(
    boxed: Boxed, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str
) -> None:
    """S6: Nor those that a person keeps in another place, which a variable of the server names."""
    place = boxed.home / "elsewhere"
    (place / name).parent.mkdir(parents=True)
    (place / name).write_text("secret")
    (place / "plain.txt").write_text("plain")
    monkeypatch.setenv(variable, str(place / value))
    session = await boxed.session()
    assert "secret" not in await boxed.run(session, disguised(f"cat {place}/{name}; true"))
    assert await boxed.run(session, f"cat {place}/plain.txt") == "plain"


@needs_sandbox
async def test_credentials_around_the_folder_hide_nothing_of_it(boxed: Boxed, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A variable that names a folder around the session's hides nothing that the agent needs."""
    for variable in ("GNUPGHOME", "DOCKER_CONFIG"):
        monkeypatch.setenv(variable, str(boxed.repo.parent))
    session = await boxed.session()
    assert await boxed.run(session, "pwd && test -e .git && echo here") == f"{boxed.repo}\nhere\n"


@needs_sandbox
async def test_bough_reads_no_hidden_file_for_an_agent(boxed: Boxed, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6, R4c: A context file that the box hides reaches the agent as a link, at the start and later; it reads the
    others itself."""
    for name, text in (("keys", "secret heron"), ("more", "secret otter"), ("plain.txt", "plain")):
        (boxed.repo / name).write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(boxed.repo / "keys"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(boxed.repo / "more"))
    session = await boxed.session(contextFiles=["keys"])
    await boxed.client.ask(session, "[[recall]]")
    fields = {"contextFiles": ["keys", "more", "plain.txt"]}
    await boxed.client.call("PATCH", f"/api/sessions/{session}", json=fields)
    await boxed.client.ask(session, "[[recall]]")
    recalled = (await boxed.client.texts(session))[-1]
    assert recalled.endswith("[[recall]]") and "secret" not in recalled
    assert await boxed.run(session, disguised("cat keys more plain.txt")) == "plain"


@needs_sandbox
async def test_a_file_with_credentials_is_empty(boxed: Boxed) -> None:
    """S6: A single file that holds keys can be read and is empty."""
    session = await boxed.session()
    assert await boxed.run(session, disguised("cat ~/.netrc && echo empty")) == "empty\n"


@needs_sandbox
async def test_an_agent_sees_nothing_of_the_data_folder(boxed: Boxed) -> None:
    """S6: Neither the token, nor the database, nor the sockets of other keepers."""
    session = await boxed.session()
    data = boxed.server.data
    command = f"cat {data}/token {data}/server.json {data}/bough.db; find {data} -type f; true"
    output = await boxed.run(session, disguised(command))
    assert boxed.server.token not in output
    listed = [line for line in output.splitlines() if line.startswith(str(data)) and "No such file" not in line]
    assert all(line.startswith(f"{data}/demo") for line in listed)
    assert "keepers" not in await boxed.run(session, disguised(f"ls -a {data}"))


@needs_sandbox
@pytest.mark.parametrize("profile", ["workspace", "strict"])
async def test_an_agent_changes_no_setting_of_the_kernel(boxed: Boxed, profile: str) -> None:
    """S6: Nothing in /proc but the agent's own processes is writable, also for root: the kernel would run as root what
    `core_pattern` names."""
    session = await boxed.session(sandboxProfile=profile)
    own = "-path '/proc/[0-9]*' -prune -o"
    assert await boxed.run(session, f"find /proc/ {own} -type f -writable -print") == ""
    pattern = "/proc/sys/kernel/core_pattern"
    same = f"cat {pattern} > /tmp/same && cat /tmp/same > {pattern} || echo closed"
    assert (await boxed.run(session, disguised(same))).endswith("closed\n")


@needs_sandbox
async def test_an_agent_writes_nothing_outside(boxed: Boxed) -> None:
    """S6: The home folder, other folders and the system are read-only, and /tmp is its own."""
    session = await boxed.session()
    other = boxed.server.root / "other"
    other.mkdir()
    for path in (boxed.home / ".bashrc", boxed.home / ".gitconfig", other / "x", Path("/etc/x"), Path("/usr/bin/x")):
        before = path.read_text() if path.exists() else None
        await boxed.run(session, f"echo evil >> {path}; true")
        assert (path.read_text() if path.exists() else None) == before
    assert await boxed.run(session, "echo mine > /tmp/bough-mine && cat /tmp/bough-mine") == "mine\n"
    assert "bough-mine" not in os.listdir("/tmp")


@needs_sandbox
@pytest.mark.parametrize(
    "command",
    [
        "git config core.fsmonitor /bin/evil",
        "echo evil >> .git/config",
        "echo evil > .git/hooks/pre-commit",
        "echo '* filter=evil' >> .git/info/attributes",
        "mv .git .git2",
        "mv .git/config .git/config2",
        "echo evil > .git/config.lock; mv -f .git/config.lock .git/config; rm -f .git/config.lock",
        "rm -rf .git/hooks",
        "mv .git/hooks .git/hooks2",
        "mkdir -p .git/worktrees/evil",
        "git update-ref refs/bough/checkpoints/evil HEAD",
        "echo /evil > .git/objects/info/alternates",
        "git commit-graph write --reachable; mv .git/objects/info .git/objects/info2",
    ],
)
@pytest.mark.parametrize("worktree", [False, True])
async def test_an_agent_cannot_change_what_git_runs(boxed: Boxed, command: str, worktree: bool) -> None:
    """S6: Of the git folder, an agent writes only what commits need."""
    session = await boxed.session(**({"worktree": {"branch": "topic"}} if worktree else {}))
    common = boxed.repo / ".git"
    if worktree:
        command = command.replace(".git/", f"{common}/")
    names = ("config", "hooks", "info", "worktrees", "refs/bough", "objects/info")
    watched = [common / name for name in names]
    before = [_content(path) for path in watched]
    await boxed.run(session, f"{command}; true")
    assert [_content(path) for path in watched] == before
    assert git(boxed.repo, "status", "--short") == ""


def _content(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    # What belongs to the session's own worktree changes with its work; checkpoints and the lock are Bough's.
    changing = ("worktrees/topic/", "checkpoints/", "worktrees/.bough/locked")
    ours = [file for file in files if not any(name in str(file) for name in changing)]
    evil = [file for file in files if "evil" in str(file)]
    return {str(file): file.read_bytes() for file in (*ours, *evil)}


@needs_sandbox
async def test_an_agent_opens_nothing_for_the_next_box(boxed: Boxed) -> None:
    """S6: An agent in the repository's own folder cannot put a link in place of a folder that worktrees write."""
    main, data = await boxed.session(), boxed.server.data
    # Created before the links, at which Bough would stop.
    work = await boxed.session(worktree={"branch": "topic"})
    for name in ("logs", "refs", "objects"):
        await boxed.run(main, disguised(f"mv .git/{name} .git/x; ln -s {data} .git/{name}; true"))
        assert not (boxed.repo / ".git" / name).is_symlink()
    await boxed.run(main, disguised(f"rm -rf .git/reftable; ln -s {data} .git/reftable; true"))
    command = f"cat {data}/token {boxed.repo}/.git/*/token; echo evil > {data}/evil; true"
    assert boxed.server.token not in await boxed.run(work, disguised(command))
    assert not (data / "evil").exists()


@needs_sandbox
async def test_a_worktree_cannot_be_moved_to_another_git_folder(boxed: Boxed) -> None:
    """S6: The files that connect a worktree with its repository stay as they are."""
    session = await boxed.session(worktree={"branch": "topic"})
    folder = Path((await boxed.client.get(f"/api/sessions/{session}"))["cwd"])
    own = boxed.repo / ".git" / "worktrees" / folder.name
    await boxed.run(session, "mkdir evil; echo gitdir: evil > .git; mv .git x; rm -f .git; true")
    await boxed.run(session, f"echo evil > {own}/commondir; mv {own}/gitdir {own}/x; echo ok")
    assert (folder / ".git").read_text() == f"gitdir: {own}\n"
    assert (own / "commondir").read_text() == "../..\n"
    output = await boxed.run(session, "echo a > a && git add a && git commit -qm Work && git branch b && echo done")
    assert output == "done\n"
    assert git(boxed.repo, "log", "-1", "--format=%s", "topic") == "Work\n"


@needs_sandbox
async def test_git_is_not_sent_to_another_folder(boxed: Boxed) -> None:
    """S6: A `commondir` in a repository's own git folder would make git run another config; it does not stay."""
    session = await boxed.session()
    await boxed.run(session, "git init -q evil && echo ../evil/.git > .git/commondir && echo done")
    assert not (boxed.repo / ".git" / "commondir").exists()


@needs_sandbox
async def test_git_is_not_sent_to_another_folder_between_turns(boxed: Boxed) -> None:
    """S6: A `commondir` that appeared after the last turn is gone before git looks at the folder for the next one."""
    session = await boxed.session()
    (boxed.repo / ".git" / "commondir").write_text("../evil/.git\n")
    await boxed.run(session, "test ! -e .git/commondir && echo gone > seen; true")
    assert (boxed.repo / "seen").read_text() == "gone\n"


@needs_sandbox
async def test_an_agent_sees_no_other_worktree(boxed: Boxed) -> None:
    """S6: The files of other sessions are invisible, also those of later ones."""
    first = await boxed.session(worktree={"branch": "first"})
    await boxed.run(first, "echo mine > mine")
    cwd = (await boxed.client.get(f"/api/sessions/{first}"))["cwd"]
    second, main = await boxed.session(worktree={"branch": "second"}), await boxed.session()
    for session in (second, main):
        assert "mine" not in await boxed.run(session, f"cat {cwd}/mine 2>/dev/null; ls {cwd} 2>/dev/null; true")
    third = await boxed.session(worktree={"branch": "third"})
    other = (await boxed.client.get(f"/api/sessions/{third}"))["cwd"]
    assert await boxed.run(first, f"ls {other} 2>/dev/null; true") == ""


@needs_sandbox
async def test_an_agent_writes_no_later_worktree(boxed: Boxed) -> None:
    """S6: An agent that started before the repository's first worktree stays out of it."""
    first = await boxed.session()
    await boxed.run(first, "true")
    second = await boxed.session(worktree={"branch": "later"})
    cwd = (await boxed.client.get(f"/api/sessions/{second}"))["cwd"]
    own = boxed.repo / ".git" / "worktrees" / os.path.basename(cwd)
    await boxed.run(first, disguised(f"mkdir -p {cwd}; echo evil > {cwd}/evil; echo evil > {own}/evil; true"))
    assert "evil" not in os.listdir(cwd) and "evil" not in os.listdir(own)
    assert git(boxed.repo, "status", "--short") == ""


@needs_sandbox
async def test_an_agent_sees_no_other_process(boxed: Boxed) -> None:
    """S6: It cannot signal or trace the server, nor leave processes behind."""
    session = await boxed.session()
    output = await boxed.run(session, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "agents.demo" in output
    assert "pytest" not in output and "agents.keeper" not in output and str(boxed.home) not in output
    assert await boxed.run(session, "cat /proc/self/status | grep CapEff") == "CapEff:\t0000000000000000\n"


@needs_sandbox
async def test_plan_and_side_questions_only_read(boxed: Boxed) -> None:
    """S6: In the mode plan nothing but the agent's own state can be written, whatever the agent believes."""
    session = await boxed.session(permissionMode="plan", agent="demo")
    await boxed.client.ask(session, "[[say Hello]]")
    row = await boxed.client.get(f"/api/sessions/{session}")
    assert row["confinement"] == "read-only"
    await boxed.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": "bypassPermissions"})
    assert await boxed.run(session, "echo x > x && echo written") == "written\n"
    branched = await boxed.client.post(f"/api/sessions/{session}/btw", {"prompt": "[[say An answer]]"})
    await boxed.client.wait_task(branched["taskId"], "completed")
    row = await boxed.client.get(f"/api/sessions/{branched['sessionId']}")
    assert row["confinement"] == "read-only"


async def test_a_required_sandbox_fails_closed(tmp_path: Path) -> None:
    """S6: Without bubblewrap no agent starts, and the task says why."""
    async with serving(tmp_path, sandbox="required") as server:
        server.services.runner.agents.confiner.probe = SandboxProbe(lambda: Availability(None, "There is none."))
        repo = await server.client.repo(server.repo())
        session = (await server.client.session(repo["id"]))["id"]
        task = await server.client.ask(session, "[[write x X]]")
        assert task["status"] == "failed"
        assert task["error"]["code"] == "sandbox_unavailable" and "There is none." in task["error"]["message"]
        assert not (server.root / "repo" / "x").exists()


async def test_auto_marks_an_unconfined_session(tmp_path: Path) -> None:
    """S6: Where the sandbox does not work, `auto` runs the agent and tells people the reason."""
    async with serving(tmp_path, sandbox="auto") as server:
        server.services.runner.agents.confiner.probe = SandboxProbe(lambda: Availability(None, "There is none."))
        repo = await server.client.repo(server.repo())
        session = (await server.client.session(repo["id"]))["id"]
        assert (await server.client.ask(session, "[[say Hi]]"))["status"] == "completed"
        row = await server.client.get(f"/api/sessions/{session}")
        assert (row["confinement"], row["unconfinedReason"]) == ("unconfined", "There is none.")


@needs_sandbox
async def test_the_nearest_choice_counts(boxed: Boxed) -> None:
    """S6: A session's choice overrides its repo's, which overrides the server's; a fork keeps its origin's."""
    client = boxed.client
    await client.call("PATCH", f"/api/repos/{boxed.repo_id}", json={"sandbox": "off"})
    session = await boxed.session()
    await client.ask(session, "[[say Hi]]")
    row = await client.get(f"/api/sessions/{session}")
    assert (row["sandbox"], row["confinement"]) == (None, "unconfined")
    await client.call("PATCH", f"/api/sessions/{session}", json={"sandbox": "auto"})
    await client.ask(session, "[[say Hi]]")
    assert (await client.get(f"/api/sessions/{session}"))["confinement"] == "workspace"
    fork = await client.post(f"/api/sessions/{session}/fork", {"prompt": "[[recall]]"})
    await client.wait_task(fork["taskId"], "completed")
    row = await client.get(f"/api/sessions/{fork['sessionId']}")
    assert (row["sandbox"], row["confinement"]) == ("auto", "workspace")


@needs_sandbox
async def test_a_terminal_session_is_confined(boxed: Boxed) -> None:
    """S6: Terminal sessions run in the sandbox as well, and keep their shell's state."""
    session = await boxed.session(agent="terminal")
    for command in ("export BIRD=crane", "cat ~/.ssh/id_ed25519; echo $BIRD > bird.txt"):
        await boxed.client.ask(session, command)
    assert (boxed.repo / "bird.txt").read_text() == "crane\n"
    assert "secret" not in str(await messages(boxed.client, session, "tool"))
