"""Ways in: REST, event streams and the command line. A door translates; what happens is `bough.core`."""
