"""`make test-client`: generates a Python client from the OpenAPI document with a published tool, and fails if the tool
complains, leaves out an operation, or writes code that does not compile. The tool has its own environment, because it
needs older versions of packages that Bough uses."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import msgspec

from tools.openapi_document import text

TOOL = "openapi-python-client==0.29.1"
FOLDER = Path(__file__).parents[2] / ".cache/generated-client"
WITHIN = 600


def install() -> Path:
    """Returns the folder of the tool's programs, which are installed if they are not there yet."""
    programs = FOLDER / TOOL / "bin"
    if not (programs / "openapi-python-client").exists():
        shutil.rmtree(FOLDER / TOOL, ignore_errors=True)
        venv.create(FOLDER / TOOL, with_pip=True)
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", TOOL], check=True, timeout=WITHIN)
    return programs


def generate(programs: Path, document: bytes) -> Path:
    """Writes the client of a document and returns its folder; raises `SystemExit` with the tool's complaints."""
    (FOLDER / "openapi.json").write_bytes(document)
    client = FOLDER / "client"
    shutil.rmtree(client, ignore_errors=True)
    command = [programs / "openapi-python-client", "generate", "--fail-on-warning", "--meta", "none"]
    result = subprocess.run(
        [*command, "--path", FOLDER / "openapi.json", "--output-path", client],
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(f"The tool complains about the document:\n{result.stdout}{result.stderr}")
    return client


def missing(document: dict[str, Any], client: Path) -> list[str]:
    """Returns the operations that the client does not have, by their method and path."""
    functions = {path.stem for path in client.glob("api/*/*.py")}
    return [
        f"{method.upper()} {path} ({operation['operationId']})"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation["operationId"]).lower() not in functions
    ]


def main() -> int:
    document = text()
    client = generate(install(), document)
    left_out = missing(msgspec.json.decode(document), client)
    if left_out:
        print("The client has no function for: " + ", ".join(left_out), file=sys.stderr)
        return 1
    if not compileall.compile_dir(client, quiet=1):
        return 1
    print(f"The generated client has {len(list(client.glob('api/*/[a-z]*.py')))} operations, and compiles.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
