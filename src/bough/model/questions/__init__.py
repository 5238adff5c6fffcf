"""Questions of agents to people: `form` defines what is asked, `answer` checks what a person replies."""
