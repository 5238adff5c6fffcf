"""Defines what things are: structs and rules without I/O."""
