"""Attacks by a hostile ACP agent on Bough's side of the protocol: what it writes, and what it asks for."""
