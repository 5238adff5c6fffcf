"""Assembles and runs the HTTP server: `app` mounts all routes, `middleware` checks every request before them, `limits`
bounds the size and time of a request's head, and `serve` binds the address and runs uvicorn.

Called by `bough serve`; it is the one package that imports all other doors.
"""
