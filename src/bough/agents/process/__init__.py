"""Process: what it takes to run an agent as a process: its inherited environment, how many start at once, its three
pipes and its end. `process_link` runs an agent as a child of this process; other agents belong to a keeper.

Called by `handshake`, `catalog`, `install`, `keeper_client`, the client of the protocol, `core` and `bough doctor`.
Calls `link`, `lines`, `errors` and the walk over process trees of `keeper`.
"""
