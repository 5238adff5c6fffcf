"""Defines what things are: structs and rules without I/O.

One module per noun of the glossary; `access/`, `agents/`, `questions/`, `trees/` and `views/` hold those that belong
together, and `values/` what all of them use.

Every other package imports it; it imports nothing of Bough but `bough.errors`.
"""
