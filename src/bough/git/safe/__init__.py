"""Keeps a repository from running code through our git calls.

`run.py` is the caller. `guard` makes the kernel forbid git to start any program; `overrides` and `configured` turn off
what a repository's configuration names; `location` finds a folder's repository; `permissions` holds what people
allowed."""
