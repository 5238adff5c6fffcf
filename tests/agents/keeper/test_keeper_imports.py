"""Every module of the keeper is listed on one side of its import contract."""

import pkgutil
import tomllib
from pathlib import Path

import bough.agents.keeper

ROOT = Path(__file__).parents[3]


def test_every_module_is_on_one_side() -> None:
    """O2: Every module is listed either as part of the program or of the server's side."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (item for item in contracts if item["name"].startswith("The keeper is a program"))
    program = set(contract["source_modules"])
    server = {name for name in contract["forbidden_modules"] if name.startswith("bough.agents.keeper.")}
    found = {f"bough.agents.keeper.{module.name}" for module in pkgutil.iter_modules(bough.agents.keeper.__path__)}
    assert program | server == found
    assert not program & server
