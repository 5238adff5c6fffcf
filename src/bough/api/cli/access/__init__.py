"""Commands about who may use the server: its users, their tokens, and the audit trail. They call the REST API."""
