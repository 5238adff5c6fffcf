"""Follows a session in a terminal: shows its transcript as it grows, asks for approvals and notices silence.

Called by the commands of `session`. Calls the server through `framework`, and `approvals` to show and answer them.
"""
