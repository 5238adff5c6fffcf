"""What happens: services that doors call, and the machinery that runs turns. HTTP, terminals and wire formats stay
outside."""
