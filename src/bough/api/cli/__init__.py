"""The command line (L4): talks REST like any other client; only `serve` and `demo-agent` run something themselves."""
