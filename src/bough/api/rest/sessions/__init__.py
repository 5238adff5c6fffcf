"""Routes for sessions and what they consist of: tasks, trees, races and calls of Bough's own tools."""
