"""Routes for repositories."""
