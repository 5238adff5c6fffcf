"""`bough approval` and `bough policy`: what turns wait for, and the rules that decide beforehand."""
