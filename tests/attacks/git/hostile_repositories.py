"""Builds repositories that an attacker has prepared: each attack names a program that git would run, in each kind of
folder that Bough works in. The program creates a file, so that a test sees whether it ran."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bough.git.safe.permissions import register_bare
from tests.support.repos import git, make_repo

FILE_PROTOCOL = ("-c", "protocol.file.allow=always")


class Place(NamedTuple):
    """A folder that Bough works in, with the configuration file and the hooks folder that the attacker writes."""

    cwd: Path
    top: Path
    config: Path
    hooks: Path
    # What the program would create.
    mark: Path

    @property
    def program(self) -> Path:
        """Returns a program that leaves the mark and otherwise works as a filter."""
        script = self.mark.with_suffix(".sh")
        script.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.mark}'\nexec cat\n")
        script.chmod(0o755)
        return script

    def set(self, name: str, value: str) -> None:
        git(self.mark.parent, "config", "--file", str(self.config), name, value)

    def attribute(self, line: str) -> None:
        with (self.top / ".gitattributes").open("a") as file:
            file.write(f"{line}\n")

    def ran(self) -> str | None:
        return self.mark.read_text() if self.mark.exists() else None


# Places


def whole_repository(tmp_path: Path) -> Place:
    top = _repository(tmp_path / "repo")
    return Place(top, top, top / ".git/config", top / ".git/hooks", tmp_path / "ran")


def subfolder(tmp_path: Path) -> Place:
    place = whole_repository(tmp_path)
    return place._replace(cwd=place.top / "folder")


def plain_folder(tmp_path: Path) -> Place:
    """A folder that became a repository by files that any editor can write."""
    top = tmp_path / "plain"
    for name in ("objects/x", "refs/x", "folder/file"):
        (top / name).parent.mkdir(parents=True)
        (top / name).write_text("x\n")
    (top / "HEAD").write_text("ref: refs/heads/main\n")
    (top / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {top}\n")
    (top / "hooks").mkdir()
    return Place(top, top, top / "config", top / "hooks", tmp_path / "ran")


def bare_repository(tmp_path: Path) -> Place:
    source = _repository(tmp_path / "source")
    git(tmp_path, "clone", "--quiet", "--bare", str(source), "bare.git")
    top = tmp_path / "bare.git"
    register_bare(str(top))
    return Place(top, top, top / "config", top / "hooks", tmp_path / "ran")


def linked_worktree(tmp_path: Path) -> Place:
    top = _repository(tmp_path / "main")
    tree = tmp_path / "linked"
    git(top, "worktree", "add", "--quiet", "-b", "linked", str(tree))
    _change(tree)
    return Place(tree, tree, top / ".git/config", top / ".git/hooks", tmp_path / "ran")


def with_submodule(tmp_path: Path) -> Place:
    """The attack is in the submodule; Bough works in the repository around it."""
    inner = make_repo(tmp_path / "inner")
    top = _repository(tmp_path / "outer")
    git(top, *FILE_PROTOCOL, "submodule", "--quiet", "add", str(inner), "module")
    git(top, "commit", "--quiet", "--all", "--message", "Module.")
    _change(top / "module")
    data = top / ".git/modules/module"
    return Place(top, top / "module", data / "config", data / "hooks", tmp_path / "ran")


def partial_clone(tmp_path: Path) -> Place:
    """A clone that lacks the contents of all older files, so that git would fetch them."""
    source = _repository(tmp_path / "source")
    git(source, "config", "uploadpack.allowFilter", "true")
    for number in range(2):
        (source / "README.md").write_text(f"{number}\n")
        git(source, "commit", "--quiet", "--all", "--message", "More.")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{source}", "partial")
    top = tmp_path / "partial"
    _change(top)
    return Place(top, top, top / ".git/config", top / ".git/hooks", tmp_path / "ran")


def _repository(path: Path) -> Path:
    """Creates a repository with two commits, two branches that changed the same file, and uncommitted files."""
    top = make_repo(path)
    (top / "folder").mkdir()
    (top / "folder/file").write_text("".join(f"{number}\n" for number in range(20)))
    (top / "merged").write_text("".join(f"{number}\n" for number in range(20)))
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "Files.")
    git(top, "branch", "other")
    git(top, "switch", "--quiet", "other")
    (top / "merged").write_text("".join(f"{number}\n" for number in range(20)) + "theirs\n")
    git(top, "commit", "--quiet", "--all", "--message", "Theirs.")
    git(top, "switch", "--quiet", "main")
    (top / "merged").write_text("ours\n" + "".join(f"{number}\n" for number in range(20)))
    git(top, "commit", "--quiet", "--all", "--message", "Ours.")
    _change(top)
    return top


def _change(top: Path) -> None:
    (top / "README.md").write_text("# Changed\n")
    (top / "untracked").write_text("new\n")


PLACES: dict[str, Callable[[Path], Place]] = {
    "repository": whole_repository,
    "subfolder": subfolder,
    "plain folder": plain_folder,
    "bare repository": bare_repository,
    "worktree": linked_worktree,
    "submodule": with_submodule,
    "partial clone": partial_clone,
}

# Attacks


def fsmonitor(place: Place) -> None:
    place.set("core.fsmonitor", str(place.program))


def _filter(place: Place, *parts: str, required: bool = False) -> None:
    place.attribute("* filter=bad")
    for part in parts:
        place.set(f"filter.bad.{part}", str(place.program))
    place.set("filter.bad.required", "true" if required else "false")


def filters(place: Place) -> None:
    _filter(place, "clean", "smudge")


def required_filters(place: Place) -> None:
    _filter(place, "clean", "smudge", required=True)


def filter_process(place: Place) -> None:
    _filter(place, "process")


def filter_with_dots_and_spaces(place: Place) -> None:
    place.attribute("* filter=Bad.one")
    place.set("filter.Bad.one.clean", str(place.program))
    place.set("filter.Bad.one.smudge", str(place.program))


def included_filters(place: Place) -> None:
    place.attribute("* filter=bad")
    extra = place.mark.with_suffix(".config")
    extra.write_text(f'[filter "bad"]\n\tclean = {place.program}\n\tsmudge = {place.program}\n')
    place.set("include.path", str(extra))


def conditionally_included_filters(place: Place) -> None:
    place.attribute("* filter=bad")
    extra = place.mark.with_suffix(".config")
    extra.write_text(f'[filter "bad"]\n\tclean = {place.program}\n\tsmudge = {place.program}\n')
    place.set("includeIf.gitdir:/**.path", str(extra))


def filters_of_the_worktree(place: Place) -> None:
    place.attribute("* filter=bad")
    place.set("core.repositoryFormatVersion", "1")
    place.set("extensions.worktreeConfig", "true")
    program = place.program
    text = f'[filter "bad"]\n\tclean = {program}\n\tsmudge = {program}\n[core]\n\tfsmonitor = {program}\n'
    for folder in (place.config.parent, *(place.config.parent / "worktrees").glob("*")):
        (folder / "config.worktree").write_text(text)


def attributes_elsewhere(place: Place) -> None:
    extra = place.mark.with_suffix(".attributes")
    extra.write_text("* filter=bad merge=bad diff=bad\n")
    place.set("core.attributesFile", str(extra))
    for part in ("clean", "smudge"):
        place.set(f"filter.bad.{part}", str(place.program))


HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-auto-gc"),
    *("post-rewrite", "post-index-change", "reference-transaction", "fsmonitor-watchman"),
)


def _write_hooks(place: Place, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        hook = folder / name
        hook.write_text(f"#!/bin/sh\necho {name} >> '{place.mark}'\n")
        hook.chmod(0o755)


def hooks(place: Place) -> None:
    _write_hooks(place, place.hooks)


def hooks_elsewhere(place: Place) -> None:
    _write_hooks(place, place.mark.with_suffix(".hooks"))
    place.set("core.hooksPath", str(place.mark.with_suffix(".hooks")))


def merge_driver(place: Place) -> None:
    place.attribute("* merge=bad")
    place.set("merge.bad.driver", f"{place.program} %O %A %B")
    place.set("merge.default", "bad")


def diff_programs(place: Place) -> None:
    place.attribute("* diff=bad")
    place.set("diff.external", str(place.program))
    place.set("diff.bad.command", str(place.program))
    place.set("diff.bad.textconv", str(place.program))


def signing(place: Place) -> None:
    for name in ("gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.openpgp.program"):
        place.set(name, str(place.program))
    for name in ("commit.gpgSign", "tag.gpgSign", "log.showSignature", "merge.verifySignatures"):
        place.set(name, "true")
    place.set("user.signingKey", "x")


def pagers_editors_and_aliases(place: Place) -> None:
    for name in ("core.pager", "pager.status", "pager.log", "pager.diff", "core.editor", "sequence.editor"):
        place.set(name, str(place.program))
    for name in ("status", "rev-parse", "update-index", "worktree"):
        place.set(f"alias.{name}", f"!{place.program}")
    place.set("core.askPass", str(place.program))


def maintenance(place: Place) -> None:
    place.set("gc.auto", "1")
    place.set("gc.recentObjectsHook", str(place.program))
    place.set("core.alternateRefsCommand", str(place.program))
    place.set("uploadpack.packObjectsHook", str(place.program))


def _promisor(place: Place, url: str) -> None:
    place.set("core.repositoryFormatVersion", "1")
    place.set("extensions.partialClone", "origin")
    place.set("remote.origin.promisor", "true")
    place.set("remote.origin.partialCloneFilter", "blob:none")
    place.set("remote.origin.url", url)
    place.set("protocol.allow", "always")
    place.set("protocol.ext.allow", "always")
    place.set("protocol.file.allow", "always")


def ssh_by_lazy_fetch(place: Place) -> None:
    _promisor(place, "ssh://example.invalid/x")
    place.set("core.sshCommand", str(place.program))


def command_line_by_lazy_fetch(place: Place) -> None:
    _promisor(place, f"ext::{place.program}")


def upload_pack_by_lazy_fetch(place: Place) -> None:
    _promisor(place, str(place.mark.parent / "nowhere"))
    place.set("remote.origin.uploadpack", str(place.program))


def helper_by_lazy_fetch(place: Place) -> None:
    _promisor(place, "git://example.invalid/x")
    place.set("core.gitProxy", str(place.program))
    place.set("credential.helper", f"!{place.program}")


def submodule_update(place: Place) -> None:
    (place.top / ".gitmodules").write_text('[submodule "m"]\n\tpath = m\n\turl = ext::sh\n\tupdate = checkout\n')
    place.set("submodule.m.update", f"!{place.program}")
    place.set("submodule.m.url", f"ext::{place.program}")
    place.set("submodule.m.active", "true")
    place.set("protocol.ext.allow", "always")
    place.set("submodule.recurse", "true")
    place.set("status.submoduleSummary", "true")


ATTACKS: dict[str, Callable[[Place], None]] = {
    attack.__name__: attack
    for attack in (
        *(fsmonitor, filters, required_filters, filter_process, filter_with_dots_and_spaces, included_filters),
        *(conditionally_included_filters, filters_of_the_worktree, attributes_elsewhere, hooks, hooks_elsewhere),
        *(merge_driver, diff_programs, signing, pagers_editors_and_aliases, maintenance, ssh_by_lazy_fetch),
        *(command_line_by_lazy_fetch, upload_pack_by_lazy_fetch, helper_by_lazy_fetch, submodule_update),
    )
}
