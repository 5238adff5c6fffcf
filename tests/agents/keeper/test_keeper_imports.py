"""The import contract of the keeper forbids every other part of Bough."""

import pkgutil
import tomllib
from pathlib import Path

import bough
import bough.agents

ROOT = Path(__file__).parents[3]
KEEPER = "bough.agents.keeper"


def test_the_contract_forbids_every_other_room() -> None:
    """O2: The contract covers the whole keeper, and lists everything else in `bough` and `bough.agents`."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (item for item in contracts if item["name"].startswith("The keeper is a program"))
    assert contract["source_modules"] == [KEEPER]
    forbidden = {name for name in contract["forbidden_modules"] if name.partition(".")[0] == "bough"}
    modules = {f"bough.{module.name}" for module in pkgutil.iter_modules(bough.__path__)}
    modules |= {f"bough.agents.{module.name}" for module in pkgutil.iter_modules(bough.agents.__path__)}
    assert forbidden == modules - {KEEPER, "bough.agents"}
