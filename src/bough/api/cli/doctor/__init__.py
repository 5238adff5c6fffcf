"""`bough doctor`: `command` prints the report, `checks` holds one function per check, and `keepers` finds and ends
agents that a stopped server left running."""
