"""`bough agents`: `command` lists, shows and installs agents; `trial` starts one and reports how far it gets.

Called by `bough.api.cli.main`. Calls `bough.agents` and parts of `core.live_agents`: a trial needs no server."""
