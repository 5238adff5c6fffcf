"""Defines what things are: structs and rules without I/O.

Every other package imports it; it imports nothing of Bough but `bough.errors`.
"""
