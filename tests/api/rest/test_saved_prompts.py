"""Tests saved prompts over REST: each person's own, and those that a repository offers as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.core.saved_prompts import repo_files, service
from tests.api.error_responses import refused
from tests.support.client import Client
from tests.support.people import as_user
from tests.support.server import Running

WHERE = "/api/saved-prompts"


async def save(client: Client, name: str, text: str = "Do it.", **fields: object) -> dict[str, object]:
    return await client.post(WHERE, {"name": name, "text": text, **fields})


def offer(folder: Path, name: str, text: str | bytes) -> Path:
    """Writes a prompt of a repository."""
    file = folder / ".bough" / "prompts" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


async def test_prompts_are_kept(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """R9: A person saves, lists, changes and removes prompts by their names."""
    client = server.client
    first = await save(client, "review", "Review it.\nName risks.", idempotencyKey="k")
    assert await save(client, "review", "Review it.\nName risks.", idempotencyKey="k") == first
    await save(client, "fix")
    assert [row["name"] for row in (await client.get(WHERE))["savedPrompts"]] == ["fix", "review"]
    assert await client.get(f"{WHERE}/review") == first
    changed = await client.call("PATCH", f"{WHERE}/review", json={"name": "look", "text": "Look."})
    assert (changed["id"], changed["name"], changed["text"]) == (first["id"], "look", "Look.")
    for body, status, code in (
        ({"name": "fix", "text": "x"}, 409, "name_taken"),
        ({"name": "a b", "text": "x"}, 400, "bad_name"),
        ({"name": "../x", "text": "x"}, 400, "bad_name"),
        ({"name": "x", "text": " "}, 400, "bad_saved_prompt"),
        ({"name": "x", "text": "a\0b"}, 400, "bad_saved_prompt"),
        ({"name": "x", "text": "a" * 65_537}, 400, "bad_saved_prompt"),
    ):
        refused(await client.http.post(WHERE, json=body), status, code)
    refused(await client.http.patch(f"{WHERE}/look", json={"name": "fix"}), 409, "name_taken")
    refused(await client.http.patch(f"{WHERE}/look", json={}), 400, "nothing_to_change")
    assert (await client.call("DELETE", f"{WHERE}/look"))["name"] == "look"
    refused(await client.http.get(f"{WHERE}/look"), 404, "saved_prompt_not_found")
    monkeypatch.setattr(service, "MOST_SAVED", 1)
    refused(await client.http.post(WHERE, json={"name": "y", "text": "x"}), 409, "too_many_saved_prompts")


async def test_prompts_are_private(server: Running) -> None:
    """R9, L1: Nobody sees another person's prompts, and viewers save none; those of a removed person are gone."""
    await save(server.client, "mine", "Of the owner.")
    async with as_user(server, "ann", "operator") as ann:
        assert (await ann.client.get(WHERE))["savedPrompts"] == []
        refused(await ann.client.http.get(f"{WHERE}/mine"), 404)
        refused(await ann.client.http.delete(f"{WHERE}/mine"), 404)
        await save(ann.client, "mine", "Of Ann.")
        assert (await ann.client.get(f"{WHERE}/mine"))["text"] == "Of Ann."
    async with as_user(server, "vic", "viewer") as vic:
        assert (await vic.client.get(f"{WHERE}/offered"))["prompts"] == []
        refused(await vic.client.http.post(WHERE, json={"name": "x", "text": "x"}), 403, "role_too_low")
    assert (await server.client.get(f"{WHERE}/mine"))["text"] == "Of the owner."
    await server.client.call("DELETE", "/api/users/ann")
    async with as_user(server, "ann", "operator") as again:
        assert (await again.client.get(WHERE))["savedPrompts"] == []


async def test_a_repository_offers_prompts(server: Running) -> None:
    """R9: The files in .bough/prompts are offered in the repository and in sessions there, after one's own."""
    path = server.repo()
    offer(path, "release.md", "Prepare a release.\r\nList the changes.\n")
    offer(path, "review.md", "Of the repository.")
    offer(path, "notes.txt", "No prompt.")
    repo = await server.client.repo(path)
    session = await server.client.session(repo["id"])
    await save(server.client, "review", "Mine.")
    for query in ({"repoId": repo["id"]}, {"sessionId": session["id"]}):
        assert (await server.client.get(f"{WHERE}/offered", params=query))["prompts"] == [
            {"name": "review", "text": "Mine.", "path": None},
            {"name": "release", "text": "Prepare a release.\nList the changes.", "path": ".bough/prompts/release.md"},
        ]
    refused(await server.client.http.get(f"{WHERE}/offered", params={"repoId": "0" * 12}), 404)


def test_hostile_files_are_not_read(tmp_path: Path) -> None:
    """R9, S10: Links, pipes, large files, other encodings and odd names are skipped, and hidden characters shown."""
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    repo = tmp_path / "repo"
    good = offer(repo, "good.md", "Say \u202ehello.")
    (good.parent / "link.md").symlink_to(secret)
    os.mkfifo(good.parent / "pipe.md")
    (good.parent / "folder.md").mkdir()
    offer(repo, "large.md", "x" * 65_537)
    offer(repo, "bytes.md", b"\xff\xfe")
    offer(repo, "empty.md", " \n")
    offer(repo, "a b.md", "x")
    offer(repo, "-x.md", "x")
    assert [(item.name, item.text) for item in repo_files.read_prompts(str(repo))] == [("good", "Say \\u202ehello.")]
    moved = tmp_path / "elsewhere"
    good.parent.rename(moved)
    good.parent.symlink_to(moved)
    assert repo_files.read_prompts(str(repo)) == []
    good.parent.unlink()
    assert repo_files.read_prompts(str(repo)) == []
    assert repo_files.read_prompts(str(tmp_path / "none")) == []
