"""The conversations that agents hold themselves: lists them, imports them as sessions, catches up with what was said
outside of Bough, and hands a session over to its agent's own terminal program.

`turns` calls it before a turn and after it, and the doors call its services. It starts agents through `live_agents`
only to read what they hold. What it reads is an agent's word: bounded, masked, and never a person's consent."""
