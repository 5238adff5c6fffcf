"""The command line: declares every `bough` command and calls the server over REST like any other client.

`main` builds the command tree and imports only the modules that the given command needs. `framework` holds what all
commands share, `commands` one file per command, `server` those about the server itself, and `session`, `worktree`,
`repos`, `approvals`, `agents` and `doctor` the larger ones. Only
`serve`, `acp`, `db`, `agents install|test`, `doctor` and `demo-agent` do work in this process; nothing else in Bough
imports this package except `bough.main`.
"""
