"""The real agents as users have them, with a scripted model: what to install (`packages`), the user's home (`homes`),
how to make each act (`actions`), an MCP server for them (`mcp_probe`), and a Bough that dies while they call it
(`dying_server`)."""
