"""`python -m bough` is `bough`."""

from bough.main import main

main()
