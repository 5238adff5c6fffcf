"""Routes for who may use the server: tokens, browser keys, users and the audit trail."""
