"""The sandbox: what an agent can read and write on this machine, held by bubblewrap instead of by the agent.

- `detect` says whether bubblewrap works here, or why not.
  what no agent sees.
- `profile` turns all of that into the arguments of `bwrap`. It reads nothing, so that tests can look at every case.
- `core.live_agents.confinement` calls this room, and the keeper starts the agent behind the arguments. The room calls
  `bough.errors` only.
"""
