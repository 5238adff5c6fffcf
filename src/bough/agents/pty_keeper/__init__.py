"""The keeper of a terminal: a small detached program that owns a person's shell, so that it outlives the server.

- It runs as `python -I -m bough.agents.pty_keeper FOLDER`, uses the standard library alone, and imports nothing of
  Bough but parts of `keeper`.
- `__main__` starts it, `shell` runs the shell on a pseudo-terminal, `scrollback` holds the end of its output,
  `viewer` serves one connection, and `main_loop` moves bytes between them.
- What a shell printed is held in memory only: it may be secret, and is of no use once the shell is gone. The output of
  a run is asked about afterwards, so its end is written to a file.
- `pty_client` starts it and speaks `protocol` with it.
"""
