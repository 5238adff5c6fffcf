"""Recognizes the kind of server that a remote is on by its host, and builds the address of its page on which a person
opens a pull request. Contacts nobody."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import quote, urlencode

import msgspec

from bough.git.finish.remotes import Remote

ForgeKind = Literal["github", "gitlab", "bitbucket", "gitea"]

# Browsers and servers take longer addresses, but not all of them.
LONGEST_LINK = 6_000
# Servers whose host tells their kind.
_KNOWN: dict[str, ForgeKind] = {
    "github.com": "github",
    "gitlab.com": "gitlab",
    "bitbucket.org": "bitbucket",
    "codeberg.org": "gitea",
    "gitea.com": "gitea",
}
# Words in the host of a server of one's own, such as `gitlab.example.com`.
_WORDS: dict[str, ForgeKind] = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}
# Hosts for ssh only, with those of their pages.
_ALIASES = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]+)?")
_PART = re.compile(r"(?!\.+$)[A-Za-z0-9._~-]+")


class Forge(msgspec.Struct, frozen=True):
    """A project on a server that has pull requests."""

    kind: ForgeKind
    host: str
    project: str

    @property
    def noun(self) -> str:
        """Returns the server's own word for a pull request."""
        return "merge request" if self.kind == "gitlab" else "pull request"

    @property
    def owner(self) -> str:
        return self.project.partition("/")[0]


class RequestText(msgspec.Struct, frozen=True):
    """The branches, title and text of a pull request."""

    branch: str
    base: str
    title: str
    body: str


def find_forge(remote: Remote) -> Forge | None:
    """Returns the project that a remote is, or None if its server is of an unknown kind."""
    host = _ALIASES.get(remote.host or "", remote.host or "")
    if not _HOST.fullmatch(host) or remote.project is None:
        return None
    name = host.partition(":")[0]
    words = re.split(r"[.-]", name)
    by_word: list[ForgeKind] = [kind for word, kind in _WORDS.items() if word in words]
    kind = _KNOWN.get(name) or next(iter(by_word), None)
    parts = remote.project.split("/")
    has_form = len(parts) == 2 or (kind == "gitlab" and len(parts) > 2)
    if kind is None or not has_form or not all(_PART.fullmatch(part) for part in parts):
        return None
    return Forge(kind, host, remote.project)


def request_link(forge: Forge, text: RequestText) -> str:
    """Returns the address of the page on which a person opens the pull request, filled in as far as it can be."""
    filled = _link(forge, text, {"title": text.title, "body": text.body})
    if len(filled) > LONGEST_LINK:
        filled = _link(forge, text, {"title": text.title})
    return filled if len(filled) <= LONGEST_LINK else _link(forge, text, {})


def _link(forge: Forge, text: RequestText, fields: dict[str, str]) -> str:
    start = f"https://{forge.host}/{forge.project}"
    if forge.kind == "gitlab":
        names = {"title": "title", "body": "description"}
        inside = {"source_branch": text.branch, "target_branch": text.base}
        inside |= {names[name]: value for name, value in fields.items()}
        return f"{start}/-/merge_requests/new?{_query({f'merge_request[{name}]': inside[name] for name in inside})}"
    if forge.kind == "bitbucket":
        inside = {"source": text.branch, "dest": f"{forge.project}::{text.base}", "t": "1"}
        return f"{start}/pull-requests/new?{_query(inside)}"
    branches = f"{quote(text.base, safe='/')}...{quote(text.branch, safe='/')}"
    return f"{start}/compare/{branches}?{_query({'expand': '1', **fields})}"


def _query(fields: dict[str, str]) -> str:
    return urlencode(fields, quote_via=quote, safe="/", errors="replace")
