"""Manages who may call the server besides the owner of its token: the keys of signed-in browsers.

Called by `api/http/auth`, which checks every request, and by the routes of `/api/tokens`. Calls `store`."""
