"""Lists the names of files and folders that grant rights or run code later, wherever they are: a person decides about
writing them. Pure: `core/policy/protected_paths` adds what depends on this machine."""

from __future__ import annotations

import fnmatch
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

GIT = "git's own files"
SHELL = "a start file of a shell"
EDITOR = "a task or launch file of an editor"
HOOK = "a hook of git"
CI = "a workflow of continuous integration"
AGENT = "an agent's own settings"


class NamePattern(NamedTuple):
    """Consecutive names of a path, as globs without case, and what they stand for."""

    names: tuple[str, ...]
    what: str


def _patterns(what: str, *paths: str) -> list[NamePattern]:
    return [NamePattern(tuple(path.casefold().split("/")), what) for path in paths]


NAMES: tuple[NamePattern, ...] = (
    # The short name is what Windows file systems give `.git`.
    *_patterns(GIT, ".git", "git~1", ".gitmodules", ".gitconfig", ".gitconfig.*"),
    *_patterns(SHELL, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *_patterns(SHELL, ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login"),
    *_patterns(SHELL, "config.fish", "fish/conf.d", ".inputrc", ".envrc", ".direnvrc"),
    *_patterns(EDITOR, ".vscode/tasks.json", ".vscode/launch.json", ".vscode/settings.json"),
    *_patterns(EDITOR, ".vscode/extensions.json", "*.code-workspace", ".devcontainer", ".devcontainer.json"),
    *_patterns(EDITOR, ".idea/runconfigurations", ".idea/workspace.xml", ".idea/externaltools", "*.run.xml"),
    *_patterns(EDITOR, ".zed/tasks.json", ".zed/settings.json", ".zed/debug.json", ".fleet/run.json"),
    *_patterns(EDITOR, ".fleet/settings.json", ".helix", ".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".gvimrc"),
    *_patterns(EDITOR, ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/environment.json"),
    *_patterns(EDITOR, ".vs/tasks.vs.json", ".vs/launch.vs.json"),
    *_patterns(EDITOR, ".dir-locals.el", ".dir-locals-2.el", "*.sublime-project"),
    *_patterns(HOOK, ".husky", ".githooks", ".lefthook", "lefthook.yml", "lefthook.yaml", ".lefthook.yml"),
    *_patterns(HOOK, ".lefthook.yaml", "lefthook-local.yml", ".pre-commit-config.yaml", ".overcommit.yml"),
    *_patterns(CI, ".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".gitlab-ci.yml"),
    *_patterns(CI, ".gitlab-ci.yaml", ".gitlab/ci", ".circleci", ".travis.yml", ".drone.yml", ".drone.yaml"),
    *_patterns(CI, ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".buildkite", ".cirrus.yml", ".build.yml"),
    *_patterns(CI, ".builds", ".tekton", "jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml"),
    *_patterns(CI, "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml", "cloudbuild.yaml", "cloudbuild.yml"),
    *_patterns(CI, ".teamcity", ".semaphore", "buildspec.yml", "buildspec.yaml"),
)


def folded(text: str) -> str:
    """Returns a name or path as the most lenient file system compares it: without case, composed, and without
    characters that are not visible."""
    if text.isascii():
        return text.casefold()
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", visible.casefold())


def named_pattern(names: Sequence[str], patterns: Iterable[NamePattern] = NAMES) -> NamePattern | None:
    """Returns the pattern that fits consecutive names anywhere. The names are folded; they may hold the wildcards of a
    shell."""
    known = set(names)
    any_wild = any(map(is_wild, names))
    for pattern in patterns:
        if not any_wild and pattern.names[0] not in known and "*" not in pattern.names[0]:
            continue
        width = len(pattern.names)
        for start in range(len(names) - width + 1):
            if all(map(_fits, pattern.names, names[start : start + width])):
                return pattern
    return None


def _fits(pattern: str, name: str) -> bool:
    if pattern == name:
        return True
    if "*" in pattern and fnmatch.fnmatchcase(name, pattern):
        return True
    # A shell's wildcard does not cover a leading dot.
    return is_wild(name) and (name[0] == "." or pattern[0] != ".") and fnmatch.fnmatchcase(pattern, name)


def is_wild(name: str) -> bool:
    """Tells whether a name holds wildcards of a shell."""
    return any(char in name for char in "*?[")
