"""Small programs that stand between an agent and one of its parts. Each documents what it changes and why.

Catalog files name them as programs; they use the standard library alone.
"""
