"""Commands about who may use the server: its users, their tokens, and the audit trail. Called by
`bough.api.cli.main`. Calls the server through `framework`."""
