"""The protocol side of Bough's tools: `door` authenticates HTTP requests, `server` speaks MCP with the official
package, `call_tool` runs a tool, `arguments` and `schemas` read and describe its input, and `guide` serves the guide.

`bough.api.server` mounts `door`. It calls the tools of `bough.api.mcp.tools` and `core.tool_calls`."""
