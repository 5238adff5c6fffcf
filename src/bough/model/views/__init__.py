"""What the doors show of several records at once: the start page and the cards of a board."""
