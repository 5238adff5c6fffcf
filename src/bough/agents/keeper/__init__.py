"""The keeper: a small detached program that owns one agent's stdio, so that a turn outlives the server.
`docs/keeper.md` tells its files and its protocol; `link` and `folders` are the server's side, all else is the program,
which needs the standard library alone and imports nothing of Bough but its own modules."""
