"""Tests `bough prompt`."""

from __future__ import annotations

import json

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_prompts_are_saved_and_printed(server: Running, cli: Cli) -> None:
    """R9, L4: A person saves a prompt, prints exactly its text, renames and removes it, and lists a repo's own."""
    path = server.repo()
    folder = path / ".bough" / "prompts"
    folder.mkdir(parents=True)
    (folder / "release.md").write_text("Prepare a release.")
    await cli("repo", "add", str(path))
    assert "No saved prompts yet" in (await cli("prompt", "list")).out
    assert "Saved review." in (await cli("prompt", "add", "review", "Name the\nrisks.")).out
    assert (await cli("prompt", "show", "review")).out == "Name the\nrisks.\n"
    assert (await cli("prompt", "change", "review", "--text", "Look.", "--name", "look")).code == 0
    listed = await cli("prompt", "list", "--repo", "repo", "--json")
    assert [(row["name"], row["path"]) for row in json.loads(listed.out)["prompts"]] == [
        ("look", None),
        ("release", ".bough/prompts/release.md"),
    ]
    assert "Prepare a release." in (await cli("prompt", "list", "--repo", "repo")).out
    assert (await cli("prompt", "change", "look")).code == 2
    assert "Removed look." in (await cli("prompt", "rm", "look")).out
    assert (await cli("prompt", "show", "look")).code == 1
