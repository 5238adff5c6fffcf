"""Puts stand-ins for `gh` and `glab` on the server's PATH, which keep their pull requests in a file, and a bare
repository behind the address of a forge."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bough.search_path import safe_entries
from tests.core.finish.finish_helpers import Work, start
from tests.support.repos import git
from tests.support.server import Running

_PROGRAM = """#!{python} -I
import json, os, sys, urllib.parse
folder = {folder!r}
name = os.path.basename(sys.argv[0])
words = sys.argv[1:]
text = sys.stdin.read()
with open(os.path.join(folder, "calls"), "a") as file:
    line = {{"name": name, "words": words, "cwd": os.getcwd(), "listed": os.listdir("."), "env": dict(os.environ)}}
    file.write(json.dumps(line) + "\\n")
settings = json.load(open(os.path.join(folder, "settings.json")))
def value(option):
    return words[words.index(option) + 1] if option in words else None
host = value("--hostname") or value("--host")
if words[0] in ("auth", "config"):
    if host not in settings["hosts"]:
        sys.exit("not logged in")
    print("a-token")
    sys.exit(0)
if settings["hangs"]:
    import time
    time.sleep(600)
if settings["fails"]:
    print(json.dumps({{"message": "Validation Failed", "errors": [{{"message": settings["fails"]}}]}}))
    sys.exit("gh: Validation Failed (HTTP 422)")
state = os.path.join(folder, "requests.json")
requests = json.load(open(state)) if os.path.exists(state) else []
endpoint, _, query = words[-1].partition("?")
method = value("--method")
parts = endpoint.split("/")
server = os.path.join(folder, "server.json")
server = json.load(open(server)) if os.path.exists(server) else {{}}
if endpoint == "graphql":
    nodes = [dict(item, comments={{"nodes": item["comments"]}}) for item in server.get("threads", [])]
    answer = {{"repository": {{"pullRequest": {{"reviewThreads": {{"nodes": nodes}}}}}}}}
    print(json.dumps({{"data": answer}}))
    sys.exit(0)
if method == "GET" and parts[-1] in ("check-runs", "status", "logs", "trace", "jobs", "discussions", "all"):
    answers = {{"check-runs": {{"check_runs": server.get("checks", [])}}, "status": {{"statuses": []}}}}
    answers |= {{"jobs": server.get("jobs", []), "discussions": server.get("discussions", [])}}
    answers |= {{"all": server.get("members", [])}}
    if parts[-1] in answers:
        print(json.dumps(answers[parts[-1]]))
    else:
        print("." * server.get("padding", 0) + (server.get("logs", {{}}).get(parts[-2]) or sys.exit("no log")))
    sys.exit(0)
if method == "GET" and parts[-1].isdigit():
    item = dict(requests[int(parts[-1]) - 1])
    shown = {{"head": {{"sha": server.get("head", "")}}, "state": "open", "sha": server.get("head", "")}}
    if name == "glab":
        shown |= {{"state": "opened", "head_pipeline": {{"id": 7}}}}
    print(json.dumps(item | shown | server.get("request", {{}})))
    sys.exit(0)
if method == "GET":
    asked = dict(urllib.parse.parse_qsl(query))
    branch = asked.get("source_branch") or asked["head"].partition(":")[2]
    print(json.dumps([item for item in requests if branch in (item.get("source_branch"), item.get("head"))]))
    sys.exit(0)
fields = json.loads(text)
if method == "POST":
    number = len(requests) + 1
    item = {{**fields, "number": number, "iid": number, "html_url": "https://%s/pull/%d" % (host, number)}}
    item["web_url"] = item["html_url"]
    requests.append(item)
else:
    item = requests[int(endpoint.rpartition("/")[2]) - 1]
    item.update(fields)
if isinstance(item.get("base"), str):
    item["base"] = {{"ref": item["base"]}}
json.dump(requests, open(state, "w"))
print(json.dumps(item))
"""


class ForgeStub:
    """The stand-ins' folder and what they were called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("gh", "glab"):
            (folder / "bin").mkdir(exist_ok=True)
            (folder / "bin" / name).write_text(_PROGRAM.format(python=sys.executable, folder=str(folder)))
            (folder / "bin" / name).chmod(0o755)
        self.set()

    def set(self, *, hosts: list[str] | None = None, fails: str = "", hangs: bool = False) -> None:
        """Sets the hosts that the programs are logged in to, and how they fail."""
        hosts = hosts if hosts is not None else ["github.com", "gitlab.com"]
        (self.folder / "settings.json").write_text(json.dumps({"hosts": hosts, "fails": fails, "hangs": hangs}))

    def serve(self, **server: Any) -> None:
        """Sets what the server tells about the pull request: `head`, `checks`, `threads`, `logs` and others."""
        (self.folder / "server.json").write_text(json.dumps(server))

    def calls(self, *, of_api: bool = True) -> list[dict[str, Any]]:
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        calls: list[dict[str, Any]] = list(map(json.loads, lines))
        return [call for call in calls if call["words"][0] == "api" or not of_api]

    def requests(self) -> list[dict[str, Any]]:
        path = self.folder / "requests.json"
        return json.loads(path.read_text()) if path.exists() else []


def forge_stub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeStub:
    """Puts the stand-ins on the PATH of this process."""
    stub = ForgeStub(folder)
    monkeypatch.setenv("PATH", f"{stub.folder / 'bin'}:{os.environ['PATH']}")
    return stub


async def on_forge(
    server: Running, monkeypatch: pytest.MonkeyPatch, address: str = "https://github.com/acme/tool.git"
) -> tuple[Work, Path]:
    """Returns work in a repository whose remote has the address of a forge. The person's own git configuration leads
    it to a bare repository."""
    work = await start(server)
    remote = work.main.parent / "remote.git"
    git(work.main.parent, "clone", "--quiet", "--bare", "--single-branch", str(work.main), str(remote))
    git(work.main, "remote", "add", "origin", address)
    home = work.main.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[url "{remote}"]\n\tinsteadOf = {address}\n[user]\n\tname = Tester\n\temail = tester@example.invalid\n'
    )
    monkeypatch.setenv("HOME", str(home))
    safe_entries.cache_clear()
    return work, remote
