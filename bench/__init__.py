"""Benchmarks: `python -m bench [NAME…]`. Every number stands beside a floor that was measured in the same run, since
machines differ and are shared; what is measured is the product as it runs, in processes of its own."""
