"""Calls of Bough's own tools, from the request to an outcome that the caller knows, across restarts.

The MCP door calls `service`, which decides with `state.calls.decide_call`, asks people through `approvals` and has
`execute` carry the call out. `waiters` knows which calls somebody waits for at this moment. The room also calls
`store`; the tools' own actions come from the MCP door through `app`.
"""
