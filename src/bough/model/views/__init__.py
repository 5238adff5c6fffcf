"""Defines views of several records at once, for the doors: the start page and the cards of a board."""
