"""Defines what is known about agents: their sandboxes, the limits of their accounts, and the conversations that they
hold."""
