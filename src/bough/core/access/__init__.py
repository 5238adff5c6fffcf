"""Manages who may call the server besides the owner: users with roles, their tokens, the keys of signed-in browsers,
and the audit trail of what they did.

Called by `api/http/auth`, which checks every request, and by the routes of `/api/tokens`, `/api/users`
and `/api/audit`. Calls `store`."""
