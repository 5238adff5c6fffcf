"""The scripts of a kill run that have a check of their own: each plays its requests once, and compares afterwards
what was acknowledged with what is there."""
