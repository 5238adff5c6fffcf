"""Benchmarks: `python -m bench [NAME…]`. Each number is compared with a floor that was measured in the same run,
because machines differ and are shared. The product is measured as it runs, in separate processes."""
