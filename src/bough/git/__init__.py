"""Git as Bough uses it: the real program, arguments never through a shell. What its answers mean to sessions is
`bough.core`."""
