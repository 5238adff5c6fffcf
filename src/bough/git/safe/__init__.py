"""Keeps a repository from running code through our git calls, and from making them write elsewhere.

`forbid_programs` makes the kernel forbid git to start any program, and `landlock` to write outside the folders that
`written_paths` lists and `opened_paths` opens; `overrides` and `configured_programs` turn off what a repository's
configuration names; `location` finds a folder's repository; `permissions` holds what people allowed.

`run` and `process` call it for every git command; `core.worktrees` and `bough doctor` use parts. It calls only
`git.paths`."""
