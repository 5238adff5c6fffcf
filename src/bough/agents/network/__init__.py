"""The network of a strict box: a proxy outside of it that passes on connections to allowed hosts, and nothing else.

- `open_ports` runs inside the box before the agent. It opens ports in the box's own network, hands them to the proxy,
  and becomes the agent. No process of ours stays in the box.
- `__main__` starts the proxy, as a child of the keeper, and receives the ports. `control` exchanges messages with the
  keeper.
- `proxy` serves the connections: it reads requests with `http_head`, asks `gate` whether a host is allowed, connects
  with `dial` and copies with `streams`. `hosts` defines host names and patterns, and `addresses` which addresses are
  public.
- The keeper starts the proxy and passes questions on to the server, where
  `core.live_agents.questions.unknown_hosts` answers them.
  Uses the standard library alone, like the keeper, and imports nothing else of Bough. `core` and the settings check
  host names with `hosts`.
"""
