"""Tests what Bough reads from git's messages while it clones."""

from __future__ import annotations

import pytest

from bough.errors import Invalid
from bough.git.clone import CloneProgress, ProgressReader, explained, folder_name, parse_address


def test_progress_arrives_in_pieces() -> None:
    """R7: Progress is read from chunks that end anywhere, and what the other side says does not count."""
    reader = ProgressReader()
    text = (
        b"Cloning into '.'...\nremote: Enumerating objects: 23, done.        \r"
        b"Receiving objects:  47% (11/23), 12.30 MiB | 1.20 MiB/s\r"
    )
    for at in range(len(text)):
        reader.feed(text[at : at + 1])
    assert reader.progress == CloneProgress("receiving", 47, 12_897_484)
    reader.feed(b"Receiving objects: 100% (23/23), 900 bytes, done.\nResolving deltas:  50% (1/2)\r")
    assert reader.progress == CloneProgress("resolving", 50, 900)
    reader.feed(b"x" * 100_000 + b"\n\xff\xfe\x00\rResolving deltas: 999% (1/2)\r")
    assert reader.progress == CloneProgress("resolving", 100, 900)


def test_errors_are_shown_without_progress_and_logins() -> None:
    """R7: An error keeps what git and the other side say, without progress, logins and hidden characters."""
    text = (
        "git clone failed: Cloning into '.'...\nremote: Counting objects: 10% (1/9)\rremote: No\u202e such repo.\n"
        "fatal: unable to access 'https://me:word@example.invalid/a.git/': 403"
    )
    assert explained(text) == (
        "remote: No\\u202e such repo.\nfatal: unable to access 'https://example.invalid/a.git/': 403"
    )
    assert len(explained("fatal: " + "x" * 50_000)) <= 2000


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://example.invalid/group/atlas.git", "atlas"),
        ("https://example.invalid:8443/atlas/", "atlas"),
        ("git@example.invalid:group/atlas.git", "atlas"),
        ("git@example.invalid:atlas", "atlas"),
        ("ssh://git@example.invalid:22/group/at.las", "at.las"),
        ("file:///srv/git/atlas.git", "atlas"),
        ("/srv/git/atlas/.git", "atlas"),
        ("https://example.invalid/..", None),
        ("https://example.invalid/", None),
    ],
)
def test_names_of_folders(address: str, name: str | None) -> None:
    """R7: A clone goes to the folder that git would choose."""
    assert folder_name(parse_address(address, "/work")) == name


@pytest.mark.parametrize("address", ["ext::sh -c id", "-x", "git://a/b", "http://a/b", "https://a:b@c/d", "https:///a"])
def test_refused_addresses(address: str) -> None:
    """R7: Only https, ssh and folders, without logins."""
    with pytest.raises(Invalid):
        parse_address(address, "/work")
