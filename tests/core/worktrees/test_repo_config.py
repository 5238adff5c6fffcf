"""Tests `.bough.toml` and `.worktreeinclude`: what they say, who allows it, and what then happens in new worktrees."""

from __future__ import annotations

from bough.core.worktrees.config.include import parse_patterns
from bough.core.worktrees.config.parse import parse_config
from bough.core.worktrees.config.service import ConfigDecision
from bough.errors import Denied
from bough.model.session import Caller
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import at, commit, made, registered
from tests.support.server import Running

CONFIG = """\
setup = ["echo built > built.txt", "echo more >> built.txt"]
copies = ["secrets/*.key", "!secrets/not.key"]
agent = "demo"
mode = "plan"
ports = 3

[run]
dev = "sleep 60"
web = { command = "sleep 61", port = 1 }
"""


async def configured(server: Running, config: str = CONFIG, include: str | None = ".env\n") -> Json:
    """Registers a repository with the two files and ignored files beside them."""
    repo = await registered(server)
    commit(at(repo["path"]), ".gitignore", ".env\nsecrets/\n")
    commit(at(repo["path"]), ".bough.toml", config)
    if include is not None:
        commit(at(repo["path"]), ".worktreeinclude", include)
    at(repo["path"], ".env").write_text("KEY=1\n")
    at(repo["path"], "secrets").mkdir()
    for name in ("a.key", "not.key", "b.txt"):
        at(repo["path"], "secrets", name).write_text(name)
    return repo


async def decide(server: Running, repo: Json, *, allowed: bool = True, **fields: object) -> Json:
    """Decides about what the files say now."""
    path = f"/api/repos/{repo['id']}/config"
    digest = (await server.client.get(path))["digest"]
    return await server.client.call("PATCH", path, json={"digest": digest, "allowed": allowed, **fields})


async def test_nothing_runs_before_a_person_allows_it(server: Running) -> None:
    """W5: A worktree is created without the setup that nobody allowed, says so, and gets it once it is allowed."""
    repo = await configured(server)
    worktree = await made(server.client, repo)
    assert (worktree["status"], at(worktree["path"], "built.txt").exists()) == ("ready", False)
    assert not at(worktree["path"], ".env").exists()
    assert "bough repo config" in worktree["setupError"]
    report = await decide(server, repo)
    assert (report["decision"], report["mode"], report["ports"]) == ("allowed", "plan", 3)
    assert report["copies"] == [".env", "secrets/*.key", "!secrets/not.key"]
    assert report["run"][1] == {"name": "web", "command": "sleep 61", "port": 1}
    body = {"idempotencyKey": "set-up"}
    again = await server.client.post(f"/api/worktrees/{worktree['id']}/setup", body)
    assert (again["setupError"], at(worktree["path"], "built.txt").read_text()) == (None, "built\nmore\n")
    at(worktree["path"], "built.txt").unlink()
    assert await server.client.post(f"/api/worktrees/{worktree['id']}/setup", body) == again
    assert not at(worktree["path"], "built.txt").exists()
    await server.client.post(f"/api/worktrees/{worktree['id']}/setup", {})
    assert at(worktree["path"], ".env").read_text() == "KEY=1\n"
    assert [path.name for path in at(worktree["path"], "secrets").iterdir()] == ["a.key"]
    second = await made(server.client, repo, "second")
    assert at(second["path"], "built.txt").read_text() == "built\nmore\n"


async def test_a_change_is_asked_about_again(server: Running) -> None:
    """W5: A decision counts for one content, in every worktree that has it, and for no other."""
    repo = await configured(server)
    await decide(server, repo)
    commit(at(repo["path"]), ".bough.toml", CONFIG.replace("built.txt", "other.txt"))
    worktree = await made(server.client, repo)
    assert "bough repo config" in worktree["setupError"]
    assert not at(worktree["path"], "other.txt").exists()
    path = f"/api/repos/{repo['id']}/config"
    answer = await server.client.http.request("PATCH", path, json={"digest": "0" * 64, "allowed": True})
    refused(answer, 409, "config_changed")
    assert (await decide(server, repo, allowed=False))["decision"] == "denied"
    denied = await made(server.client, repo, "denied")
    assert denied["setupError"] is None
    assert not at(denied["path"], "other.txt").exists()


async def test_only_people_decide(server: Running) -> None:
    """W5, P3: No session can allow what its own repository would run."""
    repo = await configured(server)
    body = ConfigDecision("0" * 64, allowed=True)
    try:
        await server.services.repo_configs.decide(Caller("session", "x"), repo["id"], body)
    except Denied as error:
        assert error.code == "config_for_people"
    else:
        raise AssertionError("it was allowed")


async def test_wrong_entries_are_reported_with_their_lines(server: Running) -> None:
    """W5: An error is shown with its line, and neither a worktree nor a session is refused for it."""
    repo = await configured(server, 'ports = 3\nmode = "everything"\n[run]\n\'a b\' = "x"\nweb = 1\n', None)
    report = await server.client.get(f"/api/repos/{repo['id']}/config")
    assert [(item["file"], item["line"]) for item in report["problems"]] == [
        (".bough.toml", 3),
        (".bough.toml", 5),
        (".bough.toml", 2),
    ]
    worktree = await made(server.client, repo)
    assert ".bough.toml, line 2: mode must be one of" in worktree["setupError"]
    session = await server.client.post("/api/sessions", {"worktreeId": worktree["id"], "agent": "demo"})
    assert session["permissionMode"] == "acceptEdits"


async def test_a_session_starts_as_the_file_proposes(server: Running) -> None:
    """W5, P1: A proposed mode counts only if it grants no more than the agent's default."""
    repo = await configured(server)
    session = await server.client.post("/api/sessions", {"repoId": repo["id"]})
    assert (session["agent"], session["permissionMode"]) == ("demo", "plan")
    chosen = await server.client.post("/api/sessions", {"repoId": repo["id"], "permissionMode": "ask"})
    assert chosen["permissionMode"] == "ask"
    at(repo["path"], ".bough.toml").write_text('mode = "allow-all"\nagent = "no-such-agent"\n')
    wider = await server.client.post("/api/sessions", {"repoId": repo["id"]})
    assert (wider["agent"], wider["permissionMode"]) == ("demo", "acceptEdits")


def test_syntax_errors_have_lines() -> None:
    """W5: A file that is no TOML says where."""
    (problem,) = parse_config("ports = 3\nsetup = [\n  oops\n]\n").problems
    assert (problem.line, problem.text.startswith(".bough.toml, line 3: ")) == (3, True)
    (problem,) = parse_config('setup = "x').problems
    assert problem.line == 1
    assert parse_config("[[[[" * 10_000).problems


def test_patterns_of_the_include_file() -> None:
    """W5: Comments and empty lines count as in .gitignore; a wrong pattern is reported with its line."""
    patterns, problems = parse_patterns("# secret\n\n.env\n!.env.example\n" + "x" * 600 + "\n")
    assert (patterns, [problem.line for problem in problems]) == ([".env", "!.env.example"], [5])
