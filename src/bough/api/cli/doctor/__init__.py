"""`bough doctor`: `command` prints the report, `checks` holds one function per check, and `keepers` finds and ends
agents that a stopped server left running.

Called by `bough.api.cli.main`. Works without a server, so it reads the database and the keepers' folders itself."""
