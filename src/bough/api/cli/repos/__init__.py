"""`bough repo`: registers repos, and says what git may run in them."""
