"""The doors: REST (`rest`), events (`ws`), MCP tools for agents (`mcp`), ACP for editors (`acp`), the web page
(`page`), previews of what runs in worktrees (`preview`) and the command line (`cli`).

A door translates requests into calls of `bough.core` and its results into answers; it decides nothing and runs no SQL.
`http` holds what the routes share, `server` assembles and runs the application, and `errors` is the one table that maps
errors to HTTP, JSON-RPC and exit codes. Only `bough.main` and `bough.app` import this package.
"""
