"""`bough repo`: registers repos (`repo`), says what git may run in them (`git`), and decides about the files by which a
repository prepares its worktrees (`config`). Called by `bough.api.cli.main`. Calls the server through `framework`."""
