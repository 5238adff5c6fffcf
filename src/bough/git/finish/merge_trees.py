"""Merges two commits, or picks one onto another, as objects only: no file, index or branch changes."""

from __future__ import annotations

import msgspec

from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.run import GitFailed, git, merge_drivers_off
from bough.git.working_copy.snapshot import IDENTITY, QUIET

# For reading every file of a large repository.
WITHIN = 600.0
# More commits than anybody rebases on purpose.
MOST_PICKED = 500
# Of git's sentences about conflicts that are in no file.
MOST_REASONS = 3
_MERGE = ("merge-tree", "--write-tree", "-z")


class ConflictedEntry(msgspec.Struct, frozen=True):
    """One side of a file in conflict, as the index stores it: 1 is the common ancestor, 2 ours, 3 theirs."""

    mode: str
    sha: str
    stage: str
    path: str


class MergedTree(msgspec.Struct, frozen=True):
    """The result of a merge. With conflicts, the tree's files have conflict markers."""

    tree: str
    entries: tuple[ConflictedEntry, ...] = ()

    @property
    def conflicts(self) -> list[str]:
        """Returns the paths in conflict, as git spells them."""
        return list(dict.fromkeys(entry.path for entry in self.entries))


class Rebased(msgspec.Struct, frozen=True):
    """The new tip of rebased commits, how many were picked, and the files and commit at which it stopped."""

    sha: str
    picked: int
    conflicts: tuple[str, ...] = ()
    stopped_at: str | None = None


async def merge_trees(path: str, ours: str, theirs: str) -> MergedTree:
    """Merges two commits of a repository. Raises `Conflict` if that needs a merge driver that nobody allowed, and for a
    conflict that is in no file."""
    try:
        text = await git(path, *QUIET, *_MERGE, ours, theirs, timeout=WITHIN, fine=(0, 1))
    except GitFailed as error:
        drivers = ", ".join(map(shown, await merge_drivers_off(path)))
        if not drivers or error.code != "git_failed":
            raise
        raise Conflict(
            "merge_blocked",
            f"The merge fails without its merge driver, and nobody allowed git to run one ({drivers}). Nothing was "
            "merged. Allow it (`bough repo git REPO --allow filters`), or merge by hand.",
        ) from error
    # A clean merge prints the tree and nothing else. Otherwise files in conflict follow, and messages after an empty
    # one; there may be no files, for example if one side split a folder and the other added a file to it.
    merged, end, messages = text.partition("\0\0")
    tree, *lines = merged.rstrip("\0").split("\0")
    if end and not lines:
        raise Conflict(
            "merge_conflict",
            f"The sides do not fit together, although no file conflicts: {_reasons(messages)} Nothing was merged. "
            "Merge by hand.",
            files=[],
        )
    return MergedTree(tree, tuple(map(_entry, lines)))


def _reasons(messages: str) -> str:
    """Returns git's own words for conflicts, from records of a number, so many paths, a kind and a text."""
    words = messages.split("\0")
    reasons: list[str] = []
    while words[0].isdigit() and len(words) > int(words[0]) + 2:
        _, kind, text, *words = words[int(words[0]) :]
        if kind.startswith("CONFLICT"):
            reasons.append(" ".join(shown(text).split()))
    return " ".join(reasons[:MOST_REASONS])


def _entry(line: str) -> ConflictedEntry:
    facts, _, path = line.partition("\t")
    mode, sha, stage = facts.split(" ")
    return ConflictedEntry(mode, sha, stage, path)


async def own_commits(path: str, onto: str, tip: str) -> list[str]:
    """Returns the commits that a rebase of `tip` onto `onto` picks, oldest first. Raises `Conflict` if one of them is a
    merge, or there are too many."""
    merges = await git(path, "rev-list", "--merges", "--count", tip, f"^{onto}")
    if int(merges):
        raise Conflict("rebase_blocked", "The branch contains merge commits, which a rebase would lose. Merge instead.")
    words = ("rev-list", "--reverse", "--topo-order", "--right-only", "--cherry-pick", f"{onto}...{tip}")
    commits = (await git(path, *words, timeout=WITHIN)).split()
    if len(commits) > MOST_PICKED:
        raise Conflict(
            "rebase_blocked", f"The branch has {len(commits)} commits of its own; {MOST_PICKED} are the limit. Merge."
        )
    return commits


async def rebase(path: str, onto: str, tip: str, committer: dict[str, str]) -> Rebased:
    """Picks the commits of `tip` onto `onto` one by one, and stops at the first conflict. Commits that change nothing
    anymore are left out."""
    new, picked = onto, 0
    for commit in await own_commits(path, onto, tip):
        merged = await _pick(path, commit, new)
        if merged.entries:
            subject = await git(path, "log", "-1", "--no-show-signature", "--format=%s", commit, "--")
            return Rebased(new, picked, tuple(merged.conflicts), shown(subject.rstrip("\n")))
        if merged.tree == await tree_of(path, new):
            continue
        new = await _recommit(path, commit, merged.tree, new, committer)
        picked += 1
    return Rebased(new, picked)


async def _pick(path: str, commit: str, onto: str) -> MergedTree:
    """Merges one commit's change into `onto`. Commits with a made-up history tell git the ancestor to use, which older
    versions take in no other way."""
    try:
        parent = await tree_of(path, f"{commit}^1")
    except GitFailed:
        parent = (await git(path, "hash-object", "-w", "-t", "tree", "--stdin", stdin=b"")).strip()
    ancestor = await _made_up(path, parent)
    ours = await _made_up(path, await tree_of(path, onto), ancestor)
    theirs = await _made_up(path, await tree_of(path, commit), ancestor)
    return await merge_trees(path, ours, theirs)


async def _made_up(path: str, tree: str, *parents: str) -> str:
    above = [word for parent in parents for word in ("-p", parent)]
    return (await git(path, *QUIET, "commit-tree", tree, *above, env=IDENTITY, stdin=b"Bough\n")).strip()


async def _recommit(path: str, commit: str, tree: str, parent: str, committer: dict[str, str]) -> str:
    """Commits a tree with the author and the message of another commit."""
    form = "%an%x00%ae%x00%ad%x00%B"
    text = await git(path, "log", "-1", "--no-show-signature", "--date=raw", f"--format={form}", commit, "--")
    name, mail, date, message = text.split("\0", 3)
    author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail, "GIT_AUTHOR_DATE": f"@{date}"}
    stdin = f"{message.rstrip()}\n".encode("utf-8", "surrogateescape")
    words = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, "-p", parent)
    return (await git(path, *QUIET, *words, env=committer | author, stdin=stdin)).strip()


async def tree_of(path: str, commit: str) -> str:
    """Returns a commit's tree."""
    return (await git(path, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")).strip()
