"""Reads and changes the files of one working copy: its state, differences, snapshots and restores. The rest of `git`
and the core call it; it runs git through `bough.git.run`."""
