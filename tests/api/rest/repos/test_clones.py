"""Tests clones over REST: from the address to the registered repository, with progress, cancelled, refused, and cleaned
up after failures and kills."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from bough.storage.queries import Query
from tests.api.error_responses import refused
from tests.api.worktree_helpers import at, commit, head
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.people import as_user
from tests.support.repos import git, make_repo
from tests.support.server import Running, ServerProcess, serving
from tests.support.slow_remote import SlowRemote, processes_in, slow_remote

UNFINISH = Query(
    "unfinish", "UPDATE clones SET state = 'cloning', phase = 'placing', ended_at = NULL", "Undoes the ends."
)


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowRemote:
    """A repository elsewhere whose transfer stops in the middle."""
    remote = slow_remote(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return remote


async def start(client: Client, address: object, **fields: object) -> Json:
    return await client.post("/api/clones", {"address": str(address), **fields})


async def ended(client: Client, clone: Json) -> Json:
    async def look() -> Json | None:
        row = await client.get(f"/api/clones/{clone['id']}")
        return row if row["state"] != "cloning" else None

    return await eventually(look, "the clone has ended")


def left_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(".bough-clone"))


async def test_a_clone_becomes_a_repository(server: Running, tmp_path: Path) -> None:
    """R7: A repository is cloned with its history and files, registered, audited, and ready for sessions."""
    source = make_repo(tmp_path / "elsewhere" / "atlas.git")
    sha = commit(source, "src/a.txt")
    client = server.client
    async with client.events() as events:
        clone = await start(client, source, name="Atlas")
        assert (clone["state"], clone["phase"], clone["startedBy"]) == ("cloning", "connecting", "owner")
        assert (await events.until(lambda event: event["type"] == "clone.created"))["data"] == clone
        await events.until(lambda event: event["type"] == "clone.patched" and event["data"]["state"] == "done")
    clone = await client.get(f"/api/clones/{clone['id'][-8:]}")
    repo = await client.get(f"/api/repos/{clone['repoId']}")
    target = server.root / "atlas"
    assert (repo["path"], repo["name"], repo["kind"], repo["defaultBranch"]) == (str(target), "Atlas", "git", "main")
    assert (head(target), (target / "src" / "a.txt").read_text()) == (sha, "text\n")
    assert git(target, "status", "--porcelain") == ""
    assert (await client.get("/api/clones"))["clones"] == [clone]
    assert left_in(server.root) == []
    entries = (await client.get("/api/audit"))["entries"]
    assert [entry["action"] for entry in reversed(entries) if "page" not in entry["action"]][-2:] == [
        *("clone.started", "repo.added")
    ]
    session = await client.session(repo["id"], initialPrompt="[[say here]]")
    assert (await client.wait_task(session["taskId"]))["status"] == "completed"


async def test_the_same_request_clones_once(server: Running, tmp_path: Path) -> None:
    """R7, A4: A repeated request with its key answers with the clone that it started, also when that has ended."""
    source = make_repo(tmp_path / "elsewhere")
    first = await start(server.client, source, path="a", idempotencyKey="k")
    done = await ended(server.client, first)
    assert await start(server.client, source, path="a", idempotencyKey="k") == done
    answer = await server.client.http.post("/api/clones", json={"address": str(source), "path": "a"})
    refused(answer, 409, "path_exists")
    assert len((await server.client.get("/api/clones"))["clones"]) == 1


async def test_progress_and_cancel(server: Running, remote: SlowRemote) -> None:
    """R7: A clone tells how far it is; cancelled, it removes what has arrived and ends git."""
    client = server.client
    clone = await start(client, remote.address, path="deep-down")

    async def is_receiving() -> Json | None:
        row = await client.get(f"/api/clones/{clone['id']}")
        return row if row["phase"] == "receiving" and row["percent"] else None

    row = await eventually(is_receiving, "the clone receives")
    assert 0 < row["percent"] < 100
    assert len(left_in(server.root)) == 1
    second = await client.http.post("/api/clones", json={"address": remote.address, "path": "deep-down"})
    refused(second, 409, "path_exists")
    cancelled = await client.post(f"/api/clones/{clone['id']}/cancel")
    assert (cancelled["state"], cancelled["error"], cancelled["repoId"]) == ("cancelled", None, None)
    assert cancelled["endedAt"] is not None
    assert await client.post(f"/api/clones/{clone['id']}/cancel") == cancelled
    assert [path.name for path in server.root.iterdir()] == []
    assert processes_in(server.root) == []
    actions = [entry["action"] for entry in (await client.get("/api/audit"))["entries"]]
    assert actions[0] == "clone.cancelled"


async def test_a_transfer_that_goes_on_completes(server: Running, remote: SlowRemote) -> None:
    """R7: A clone over ssh, with the person's own ssh command, arrives with all its files."""
    clone = await start(server.client, remote.address)
    await eventually(remote.is_stopped, "the transfer has begun")
    remote.go_on()
    done = await ended(server.client, clone)
    assert (done["state"], done["path"]) == ("done", str(server.root / "atlas"))
    assert (server.root / "atlas" / "19.bin").read_bytes() == (remote.source / "19.bin").read_bytes()
    config = (server.root / "atlas" / ".git" / "config").read_text()
    assert remote.address in config


async def test_failures_say_why(server: Running, remote: SlowRemote, tmp_path: Path) -> None:
    """R7: A clone that fails leaves nothing and says why, with advice where there is one."""
    client = server.client
    for address, words in (
        (tmp_path / "far" / "plain", "does not exist"),
        ("nobody@example.invalid:a/b", "The server does not accept your ssh key."),
    ):
        (tmp_path / "far" / "plain").mkdir(exist_ok=True)
        failed = await ended(client, await start(client, address))
        assert (failed["state"], failed["repoId"]) == ("failed", None)
        assert words in failed["error"]
    assert list(server.root.iterdir()) == []
    assert (await client.get("/api/repos"))["total"] == 0


async def test_an_empty_repository(server: Running, tmp_path: Path) -> None:
    """R7: A repository without commits is cloned, too."""
    source = tmp_path / "empty"
    source.mkdir()
    git(source, "init", "--quiet", "--bare")
    done = await ended(server.client, await start(server.client, source))
    assert (done["state"], done["error"]) == ("done", None)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("ext::sh -c 'touch /tmp/x'", "bad_address"),
        ("--upload-pack=touch", "bad_address"),
        ("-oProxyCommand=touch:x", "bad_address"),
        ("ssh://-oProxyCommand=touch/x", "bad_address"),
        ("http://example.invalid/a.git", "bad_address"),
        ("git://example.invalid/a.git", "bad_address"),
        ("fd::17/a", "bad_address"),
        ("https://example.invalid/a\nb", "bad_address"),
        (" ", "bad_address"),
        ("https://me:s3cret-word@example.invalid/a.git", "address_with_login"),
        ("https://s3cret-word@example.invalid/a.git", "address_with_login"),
        ("https://example.invalid/a.git?token=s3cret-word", "address_with_login"),
        ("ssh://me:s3cret-word@example.invalid/a.git", "address_with_login"),
        ("me:s3cret-word@example.invalid:a.git", "address_with_login"),
        ("http://me:s3cret-word@example.invalid/a.git", "bad_address"),
    ],
)
async def test_addresses_that_are_refused(server: Running, address: str, code: str) -> None:
    """R7: Addresses that name a program, pass for an option or hold a login are refused; the login is repeated
    nowhere."""
    answer = await server.client.http.post("/api/clones", json={"address": address, "path": "a"})
    refused(answer, 400, code)
    assert "s3cret-word" not in answer.text
    assert (await server.client.get("/api/clones"))["clones"] == []


async def test_targets_that_are_refused(server: Running, tmp_path: Path) -> None:
    """R7, W3: A clone goes inside the workspace root, to where nothing exists, and not into git's own data."""
    source = make_repo(tmp_path / "elsewhere")
    server.repo("taken")
    at(str(server.root), "link").symlink_to(tmp_path)
    at(str(server.root), "dangling").symlink_to(tmp_path / "nowhere")
    for path, status, code in (
        ("taken", 409, "path_exists"),
        ("dangling", 403, "path_outside_root"),
        ("../out", 403, "path_outside_root"),
        ("link/out", 403, "path_outside_root"),
        (str(tmp_path / "out"), 403, "path_outside_root"),
        (str(server.root), 403, "path_outside_root"),
        ("no/such", 400, "path_missing"),
        ("taken/.git/x", 400, "bad_path"),
        ("a\0b", 400, "bad_path"),
    ):
        answer = await server.client.http.post("/api/clones", json={"address": str(source), "path": path})
        refused(answer, status, code)
    assert sorted(path.name for path in server.root.iterdir()) == ["dangling", "link", "taken"]


async def test_who_may_clone_what(server: Running, tmp_path: Path) -> None:
    """R7, L1: Operators clone, but no folder from outside the workspace root; nobody clones from Bough's data folder,
    and viewers only look."""
    outside, inside = make_repo(tmp_path / "elsewhere"), server.repo("mine")
    data = make_repo(server.data / "sub")
    refused(await server.client.http.post("/api/clones", json={"address": str(data)}), 403, "path_in_data_folder")
    async with as_user(server, "ann", "operator") as ann:
        answer = await ann.client.http.post("/api/clones", json={"address": str(outside)})
        refused(answer, 403, "path_outside_root")
        clone = await start(ann.client, inside, path="copy")
        assert (await ended(ann.client, clone))["state"] == "done"
        assert clone["startedBy"] == "ann"
    async with as_user(server, "vic", "viewer") as vic:
        assert len((await vic.client.get("/api/clones"))["clones"]) == 1
        refused(await vic.client.http.post("/api/clones", json={"address": str(inside)}), 403, "role_too_low")
        refused(await vic.client.http.post(f"/api/clones/{clone['id']}/cancel", json={}), 403, "role_too_low")
        refused(await vic.client.http.get("/api/workspace/repos"), 403, "role_too_low")
        refused(await vic.client.http.get("/api/workspace/folders"), 403, "role_too_low")


async def test_a_server_that_stops_cleans_up(tmp_path: Path, remote: SlowRemote) -> None:
    """R7: A clone under way when the server stops leaves nothing behind, and its row says why it failed."""
    async with serving(tmp_path) as server:
        clone = await start(server.client, remote.address)
        await eventually(remote.is_stopped, "the transfer has begun")
    assert list((tmp_path / "work").iterdir()) == []
    async with serving(tmp_path) as server:
        row = await server.client.get(f"/api/clones/{clone['id']}")
        assert (row["state"], "Start it again" in row["error"]) == ("failed", True)


async def test_a_killed_server_leaves_nothing(tmp_path: Path, remote: SlowRemote) -> None:
    """R7, Q3: After kill -9 in the middle of a clone, the next start ends the git that is left, removes what has
    arrived and says so in the row; the same clone can be started again at once."""
    process = ServerProcess(tmp_path / "data", tmp_path / "work", env={"HOME": str(tmp_path / "home")})
    async with process, process.client() as client:
        clone = await start(client, remote.address)
        await eventually(remote.is_stopped, "the transfer has begun")
        await process.stop(signal.SIGKILL)
        assert len(left_in(process.root)) == 1
        await process.start()
        async with process.client() as again:
            row = await ended(again, clone)
            assert (row["state"], "Start it again" in row["error"]) == ("failed", True)
            assert list(process.root.iterdir()) == []
            assert processes_in(process.root) == []
            remote.go_on()
            assert (await ended(again, await start(again, remote.address)))["state"] == "done"


async def test_a_complete_clone_is_registered_after_a_kill(tmp_path: Path) -> None:
    """R7, Q3: A clone that was moved into place before the server died is registered by the next one; one that was not
    is removed."""
    source = make_repo(tmp_path / "elsewhere")
    async with serving(tmp_path) as server:
        rows = [await ended(server.client, await start(server.client, source, path=name)) for name in ("a", "b")]
        for row in rows:
            await server.client.call("DELETE", f"/api/repos/{row['repoId']}")

        await server.services.store.db.transaction(lambda tx: tx.run(UNFINISH))
        (server.root / "b").rename(server.root / f".bough-clone-{rows[1]['id']}")
    async with serving(tmp_path) as server:
        first, second = [await ended(server.client, row) for row in rows]
        assert (first["state"], second["state"]) == ("done", "failed")
        assert (await server.client.get(f"/api/repos/{first['repoId']}"))["path"] == str(server.root / "a")
        assert [path.name for path in server.root.iterdir()] == ["a"]
