"""Records of who may use the server, and of what they did."""
