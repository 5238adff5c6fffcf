"""Stores everything: the backend interface, SQLite and PostgreSQL behind it, named SQL (`queries/`) and migrations.

Called by `bough.core` only. Calls the database drivers.
"""
