"""The real agents, as users have them, with the scripted model in place of their own: what to install (`packages`), the
user's side of it (`homes`), how each is made to act (`actions`), a server of tools for them (`mcp_probe`), and a Bough
that dies while they call it (`dying`)."""
