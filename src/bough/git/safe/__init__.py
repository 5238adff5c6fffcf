"""Keeps a repository from running code through our git calls.

`guard` makes the kernel forbid git to start any program; `overrides` and `configured` turn off what a repository's
configuration names; `location` finds a folder's repository; `permissions` holds what people allowed.

`run` calls it for every git command; `core.worktrees` and `bough doctor` use parts. It calls only `git.paths`."""
