"""Bough's own tools for agents, over the Model Context Protocol at `/mcp/`.

`tools` declares what each tool takes, returns and does; `protocol` authenticates requests, reads arguments, runs calls
and speaks MCP; `guide` holds the orchestration guide and its prompts. Tools call the services of `bough.core`.
`bough.api.server` mounts the door, and `bough.app` gives the tools' actions to the services before any call can run.
"""
