"""Shows what runs in worktrees, at addresses of their own: a proxy on a port of its own that only this machine reaches.

- `proxy` accepts connections and passes them on, and `heads` rewrites the heads of requests and answers.
- It knows no token and no cookie of Bough: the host name of an address is its key (decision 17). `core.runs.previews`
  says what a name stands for.
"""
