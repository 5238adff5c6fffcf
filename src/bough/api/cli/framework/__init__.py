"""Shared parts of all commands: declaring them, finding and calling the server, reading its events, and printing.

Used by every other package of `bough.api.cli`; imports none of them.
"""
