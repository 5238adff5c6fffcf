"""Databases, disks, networks, servers and keepers that fail when and where a test says."""
