"""Bough's own tools for agents, on the Model Context Protocol at `/mcp/` (spec section 5)."""
