"""What things are: plain structs and rules without any I/O."""
