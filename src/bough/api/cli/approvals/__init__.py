"""`bough approval` and `bough policy`: what turns wait for, and the rules that decide beforehand. Called by
`bough.api.cli.main` and by `session.follow`, which asks while a turn runs. Calls the server through `framework`."""
