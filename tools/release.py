"""`python -m tools.release VERSION [--dry-run]` builds a release into dist/, checks it and tags it. A dry run does
everything except the tag and lists what would stop the release."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

from tools.release_check import ReleaseError, build, check_files, try_wheel

ROOT = Path(__file__).parents[1]
VERSION_LINE = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
VERSION_FORM = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
RELEASE_BRANCH = "main"


def find_problems(root: Path, version: str) -> list[str]:
    """Returns every reason not to release this version from this clone, in the order in which to fix them."""
    return [*version_problems(root, version), *changelog_problems(root, version), *git_problems(root, version)]


def version_problems(root: Path, version: str) -> list[str]:
    """Compares the version with the one that the code states and with the agent registry's entry."""
    if VERSION_FORM.fullmatch(version) is None:
        return [f"{version!r} is not a version; use a form like 1.2.3 or 1.2.3rc1."]
    problems: list[str] = []
    stated = VERSION_LINE.search((root / "src/bough/__init__.py").read_text("utf-8"))
    if stated is None or stated[1] != version:
        problems.append(f'src/bough/__init__.py does not state {version}; set __version__ = "{version}".')
    (entry_file,) = root.glob("docs/**/acp-registry/agent.json")
    entry = json.loads(entry_file.read_text("utf-8"))
    package = entry["distribution"]["uvx"]["package"]
    if (entry["version"], package) != (version, f"bough=={version}"):
        problems.append(f"{entry_file.relative_to(root)} does not state {version}; change its version and package.")
    return problems


def changelog_problems(root: Path, version: str) -> list[str]:
    """Requires a dated section for the version, and nothing under Unreleased that the release would leave out."""
    sections = read_changelog((root / "CHANGELOG.md").read_text("utf-8"))
    problems: list[str] = []
    released, entries = sections.get(version, (None, ""))
    if not entries:
        problems.append(f'CHANGELOG.md has no entries for {version}; add a section "## [{version}] - {date.today()}".')
    elif released is None:
        problems.append(f"The section for {version} in CHANGELOG.md has no date; add it as YYYY-MM-DD.")
    if sections.get("Unreleased", (None, ""))[1]:
        problems.append(f"CHANGELOG.md has entries under Unreleased; move them to the section for {version}.")
    return problems


def read_changelog(text: str) -> dict[str, tuple[str | None, str]]:
    """Returns the date and the entries of each section by its name."""
    headings = list(HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return {
        heading[1]: (heading[2], text[heading.end() : end].strip()) for heading, end in zip(headings, ends, strict=True)
    }


def git_problems(root: Path, version: str) -> list[str]:
    """Requires a clean clone on the release branch in which the version has no tag yet."""
    problems: list[str] = []
    if git(root, "status", "--porcelain"):
        problems.append("The clone has uncommitted changes; commit or stash them.")
    if (branch := git(root, "branch", "--show-current")) != RELEASE_BRANCH:
        problems.append(f"The current branch is {branch or 'none'}; releases are made from {RELEASE_BRANCH}.")
    if git(root, "tag", "--list", f"v{version}"):
        problems.append(f"The tag v{version} already exists; choose a new version.")
    return problems


def git(root: Path, *arguments: str) -> str:
    """Runs git and returns what it printed."""
    result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ReleaseError(f"git {' '.join(arguments)} failed: {result.stderr.strip()}")
    return result.stdout.strip()


def release(root: Path, version: str, *, dry_run: bool) -> int:
    """Builds, checks and tags the version; returns the exit code."""
    problems = find_problems(root, version)
    for problem in problems:
        print(f"- {problem}")
    if problems and not dry_run:
        print("Nothing was built. Fix the problems above, or add DRY_RUN=1 to build without a tag.")
        return 1
    print("Building the wheel and the source archive …")
    wheel, archive = build(root, root / "dist")
    check_files(wheel, archive)
    print("Installing the wheel and starting a server …")
    try_wheel(wheel, version, root / "constraints.txt")
    print(f"{wheel.name} and {archive.name} in dist/ are complete and work.")
    if dry_run:
        print(f"Dry run: v{version} was not tagged.")
        return 1 if problems else 0
    git(root, "tag", "--annotate", f"v{version}", "--message", f"Bough {version}")
    print(f"Tagged v{version}. Publish it with: git push origin {RELEASE_BRANCH} v{version}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release", description="Builds, checks and tags a release.")
    parser.add_argument("version", help="the version to release; must match src/bough/__init__.py")
    parser.add_argument("--dry-run", action="store_true", help="do everything except the tag")
    arguments = parser.parse_args()
    try:
        return release(ROOT, arguments.version, dry_run=arguments.dry_run)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
