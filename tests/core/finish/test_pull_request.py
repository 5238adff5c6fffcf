"""Tests opening and updating pull requests through `gh` and `glab`, and the link and text where neither can."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bough.core.finish.commit import ProposedMessage
from bough.core.finish.pull_request import MOST_COMMITS, propose_request
from bough.git.finish import forge_programs
from bough.git.finish.forges import Forge, RequestText, find_forge, request_link
from bough.git.finish.remotes import parse_remote
from tests.api.worktree_helpers import commit, head
from tests.core.finish.finish_helpers import start
from tests.core.finish.forge_stub import ForgeStub, forge_stub, on_forge
from tests.core.finish.test_push import tip
from tests.support.repos import git
from tests.support.server import Running


@pytest.fixture
def forge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeStub:
    return forge_stub(tmp_path / "forge", monkeypatch)


async def test_a_pull_request_is_opened_and_updated(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: The branch is pushed and the pull request opened after a preview that says so and changes nothing; a second
    call sends new commits, and changes only what it is given."""
    work, remote = await on_forge(server, monkeypatch)
    commit(work.folder, "one.txt", message="Add one.")
    preview = await work.preview("pull-request", draft=True)
    assert preview["steps"] == [
        "Push feature as a new branch to https://github.com/acme/tool.git.",
        "Open a draft pull request from feature into main of github.com/acme/tool with gh.",
    ]
    request = preview["pullRequest"]
    assert (request["title"], request["body"], request["url"]) == ("Add one.", "Commits:\n\n- Add one.", None)
    assert forge.requests() == [] and "feature" not in git(remote, f"--git-dir={remote}", "branch")
    done = await work.do("pull-request", title="A tool", body="Line one.\n\nLine two.", draft=True)
    assert done["pullRequest"]["url"] == "https://github.com/pull/1"
    assert done["sha"] == tip(remote) == head(work.folder)
    [opened] = forge.requests()
    assert (opened["title"], opened["body"], opened["head"]) == ("A tool", "Line one.\n\nLine two.", "feature")
    assert (opened["base"], opened["draft"]) == ({"ref": "main"}, True)
    # A person's words on the server are kept, and shown for editing.
    commit(work.folder, "two.txt", message="Add two.")
    preview = await work.preview("pull-request")
    assert preview["pullRequest"]["title"] == "A tool"
    assert preview["steps"][-1].startswith("The pull request 1 is open already and gets the new commits")
    again = await work.do("pull-request")
    assert (tip(remote), again["pullRequest"]["number"]) == (head(work.folder), 1)
    assert "change the title" in (await work.preview("pull-request", title="Better"))["steps"][-1].lower()
    await work.do("pull-request", title="Better")
    [changed] = forge.requests()
    assert (changed["title"], changed["body"]) == ("Better", "Line one.\n\nLine two.")
    entries = (await server.client.get("/api/audit?action=worktree.pull_request"))["entries"]
    assert [entry["details"]["url"] for entry in entries] == ["https://github.com/pull/1"] * 3


async def test_a_merge_request_is_opened(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F6: On GitLab, glab opens and updates a merge request, also of a project in subgroups."""
    work, remote = await on_forge(server, monkeypatch, "https://gitlab.com/acme/tools/saw.git")
    commit(work.folder, "one.txt")
    done = await work.do("pull-request", title="Saw", body="Saws.", draft=True)
    assert done["pullRequest"]["number"] == 1 and tip(remote) == head(work.folder)
    await work.do("pull-request", body="Saws wood.")
    [request] = forge.requests()
    assert (request["title"], request["description"]) == ("Draft: Saw", "Saws wood.")
    assert (request["source_branch"], request["target_branch"]) == ("feature", "main")
    assert {call["name"] for call in forge.calls()} == {"glab"}
    assert all("projects/acme%2Ftools%2Fsaw/merge_requests" in call["words"][-1] for call in forge.calls())


async def test_the_programs_run_outside_of_the_worktree(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: They run in an empty folder without Bough's variables, and get the text on their input."""
    monkeypatch.setenv("BOUGH_SECRET", "x")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GH_DEBUG", "api")
    work, _ = await on_forge(server, monkeypatch)
    commit(work.folder, "one.txt")
    await work.do("pull-request", title="-oops", body="--body")
    for call in forge.calls(of_api=False):
        assert call["listed"] == [] and "bough-forge-" in call["cwd"]
        assert not {"BOUGH_SECRET", "GIT_DIR", "GH_DEBUG"} & set(call["env"])
        assert not any("oops" in word or "--body" in word for word in call["words"])
    assert forge.requests()[0]["title"] == "-oops"


@pytest.mark.parametrize("problem", ["missing", "logged out", "failing", "hanging", "unknown host"])
async def test_a_person_gets_the_link_and_the_text(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    """F6: If no program can open it, the branch is pushed, and the answer has the reason, the title, the text and, for
    a known host, the link."""
    reasons = {
        "missing": "gh is not installed",
        "logged out": "gh is not logged in to github.com",
        "failing": "gh failed: Validation Failed: A head is invalid.",
        "hanging": "gh took longer than",
        "unknown host": "does not tell which kind of server",
    }
    if problem == "missing":
        (forge.folder / "bin" / "gh").unlink()
        monkeypatch.setattr(forge_programs, "find_own_program", lambda name: None)  # type: ignore[reportUnknownLambdaType]
    host = "code.example.invalid" if problem == "unknown host" else "github.com"
    hosts: list[str] = [] if problem == "logged out" else ["github.com"]
    forge.set(hosts=hosts, fails="A head is invalid." if problem == "failing" else "", hangs=problem == "hanging")
    monkeypatch.setattr(forge_programs, "WITHIN", 3.0 if problem == "hanging" else 60.0)
    work, remote = await on_forge(server, monkeypatch, f"https://{host}/acme/tool.git")
    commit(work.folder, "one.txt", message="Add one.")
    preview = await work.preview("pull-request")
    assert reasons[problem] in preview["pullRequest"]["reason"] and preview["refusal"] is None
    assert "by hand" in preview["steps"][-1]
    done = await work.do("pull-request", title="A & b", body="Text #1")
    request = done["pullRequest"]
    assert reasons[problem] in request["reason"] and request["url"] is None
    assert (request["title"], request["body"], tip(remote)) == ("A & b", "Text #1", head(work.folder))
    link = str(request["link"])
    query = parse_qs(urlsplit(link).query)
    start, texts = ("https://github.com/acme/tool/compare/main...feature?", (["A & b"], ["Text #1"]))
    expected = (False, (None, None)) if problem == "unknown host" else (True, texts)
    assert (link.startswith(start), (query.get("title"), query.get("body"))) == expected
    assert forge.requests() == []


async def test_a_failure_after_the_push_loses_nothing(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: If opening fails although looking worked, the answer has the reason, the link and the text."""
    work, remote = await on_forge(server, monkeypatch)
    commit(work.folder, "one.txt")

    async def fail(*_: object, **__: object) -> None:
        raise forge_programs.ForgeFailed("gh failed: No rights.")

    monkeypatch.setattr(forge_programs, "open_request", fail)
    done = await work.do("pull-request", title="Mine")
    assert done["steps"][-1] == "Open the pull request by hand, with the link and the text. gh failed: No rights."
    assert "title=Mine" in done["pullRequest"]["link"] and tip(remote) == head(work.folder)


async def test_what_cannot_become_a_pull_request(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: Without a remote, without commits of its own, or with a title that no server takes, it is refused, and
    nothing is pushed."""
    work = await start(server)
    await work.refused("pull-request", "nothing_to_merge")
    commit(work.folder, "one.txt")
    await work.refused("pull-request", "no_remote")
    git(work.main, "remote", "add", "origin", "https://github.com/acme/tool.git")
    await work.refused("pull-request", "no_base", base="nowhere")
    path = f"/api/worktrees/{work.worktree['id']}/pull-request"
    for body in ({"title": "  "}, {"title": "x" * 300}, {"body": "x" * 70_000}):
        answer = await server.client.http.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_message")
    assert forge.calls() == [] or all(call["words"][4] == "GET" for call in forge.calls())


def test_the_proposal() -> None:
    """F6: The title is the session's, the text the agent's last words and the commits, oldest first; without a session
    the newest commit is the title. Long lists are cut, and hidden characters shown."""
    proposed = ProposedMessage("Add a saw\n\nI added it.\n\nDone.", "s1")
    assert propose_request(proposed, ["Two", "One"], 2) == (
        "Add a saw",
        "I added it.\n\nDone.\n\nCommits:\n\n- One\n- Two",
    )
    assert propose_request(ProposedMessage("feature"), ["T\u202ewo"], 1) == ("T\\u202ewo", "Commits:\n\n- T\\u202ewo")
    _, text = propose_request(proposed, ["One"] * MOST_COMMITS, MOST_COMMITS + 3)
    assert "- 3 earlier commits\n- One" in text


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("git@github.com:o/n.git", "https://github.com/o/n/compare/main...fix/a%23b?expand=1&title=T&body=B"),
        (
            "ssh://git@ssh.github.com:443/o/n.git",
            "https://github.com/o/n/compare/main...fix/a%23b?expand=1&title=T&body=B",
        ),
        (
            "https://github.example.invalid/o/n",
            "https://github.example.invalid/o/n/compare/main...fix/a%23b?expand=1&title=T&body=B",
        ),
        (
            "git@gitlab.com:g/s/n.git",
            "https://gitlab.com/g/s/n/-/merge_requests/new?merge_request%5Bsource_branch%5D=fix/a%23b"
            "&merge_request%5Btarget_branch%5D=main&merge_request%5Btitle%5D=T&merge_request%5Bdescription%5D=B",
        ),
        (
            "git@bitbucket.org:o/n.git",
            "https://bitbucket.org/o/n/pull-requests/new?source=fix/a%23b&dest=o/n%3A%3Amain&t=1",
        ),
        ("https://codeberg.org/o/n.git", "https://codeberg.org/o/n/compare/main...fix/a%23b?expand=1&title=T&body=B"),
        (
            "https://git.forgejo.invalid:3000/o/n",
            "https://git.forgejo.invalid:3000/o/n/compare/main...fix/a%23b?expand=1&title=T&body=B",
        ),
        ("https://code.example.invalid/o/n.git", None),
        ("https://github.com/o/n/../../x", None),
        ("https://github.com/only", None),
        ("/srv/git/n.git", None),
    ],
)
def test_links(address: str, link: str | None) -> None:
    """F6: The host decides the form of the link; an unknown one gets none."""
    forge = find_forge(parse_remote("origin", address, "/srv/work"))
    text = RequestText("fix/a#b", "main", "T", "B")
    assert (request_link(forge, text) if forge is not None else None) == link


def test_a_long_text_is_left_out_of_the_link() -> None:
    """F6: An address stays short enough for browsers."""
    forge = Forge("github", "github.com", "o/n")
    assert request_link(forge, RequestText("b", "main", "T", "x" * 10_000)).endswith("?expand=1&title=T")
