"""The keeper: a small detached program that owns one agent's stdio, so that a turn outlives the server.
`docs/reference/keeper.md` tells its files and its protocol. `launcher`, `start`, `link`, `stream`, `follower` and `remains` are
the server's side; all else is the program, which needs the standard library alone and imports nothing else of Bough."""
