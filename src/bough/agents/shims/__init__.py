"""Small programs that stand between an agent and one of its parts. Each documents what it changes and why.

Catalog files name them as programs, and keepers start them like agents. They use the standard library alone.
"""
