"""`bough agents`: `command` lists, shows and installs agents; `test_run` starts one and reports how far it gets."""
