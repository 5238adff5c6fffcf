"""The sandbox: what an agent can read and write on this machine, held by bubblewrap instead of by the agent.

- `detect` says whether bubblewrap works here, or why not.
- `box_paths` reads from the disk which paths a session's box needs. It asks `git_layout` for the git folders,
  `credentials` for what no agent sees, `private_copies` for files that the agent changes for itself only, and `sockets`
  for programs that a strict box must not reach.
- `bwrap_arguments` turns all of that into the arguments of `bwrap`. It reads nothing, so that tests can look at every
  case.
- `own_network` plans the network of a strict box, which `bough.agents.network` serves, and `socket_filter` keeps other
  kinds of sockets out of it.
- `core.live_agents.start` calls this room, and the keeper starts the agent behind the arguments. The room imports host
  names and `open_ports` from `bough.agents.network`, and a descriptor's number from the keeper.
"""
