"""Delivers committed changes: the hub fans events out to subscribers, and `wait` blocks until tasks or sessions settle.

Called by the doors (WebSocket, SSE, MCP, ACP) and the recorder. Calls `store`."""
