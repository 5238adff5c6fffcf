"""Small programs that stand between an agent and a part of it. Each says what it changes and why."""
