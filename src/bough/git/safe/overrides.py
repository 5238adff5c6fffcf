"""Builds the variables that override a repository's configuration, so that git runs nothing that it names."""

from __future__ import annotations

from collections.abc import Mapping

# Nothing may wait for a person, use a pager or an editor, or speak another language.
FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
    # Commits have the contents and parents that their names promise: an agent can write refs that replace them, and
    # a file that gives them other parents.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
}
# Objects that a partial clone lacks are not fetched: its configuration can name a program for that.
NO_LAZY_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
# Without a network: not for objects that a partial clone lacks either.
OFFLINE = {**NO_LAZY_FETCH, "GIT_ALLOW_PROTOCOL": "none", "GIT_SSH_COMMAND": "false"}
# These have priority over every file, also over one that changes while git runs.
SETTINGS = {
    # An agent can write files that look like a repository into any folder.
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    # A second record of which commits follow which, which an agent can write.
    "core.commitGraph": "false",
    "core.editor": ":",
    "core.pager": "cat",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
    # Git would start itself inside each submodule, with that submodule's configuration.
    "diff.ignoreSubmodules": "dirty",
    "diff.submodule": "short",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
    # Git would start itself for these, which the guard forbids.
    "gc.auto": "0",
    "maintenance.auto": "false",
    "checkout.workers": "1",
}
NO_HOOKS = {"core.hooksPath": "/dev/null"}
NO_TRANSPORTS = {
    "protocol.allow": "never",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "true",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
}
# A transport that is a command line.
NO_COMMAND_LINES = {"protocol.ext.allow": "never"}


def as_variables(names: Mapping[str, str]) -> dict[str, str]:
    """Returns variables that make git use these settings before all others."""
    variables = {"GIT_CONFIG_COUNT": str(len(names))}
    for number, (name, value) in enumerate(names.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
