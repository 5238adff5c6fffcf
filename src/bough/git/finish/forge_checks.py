"""Reads the checks, review threads and logs of a pull request through the person's own `gh` or `glab`."""

from __future__ import annotations

from typing import Any, Literal, cast
from urllib.parse import quote

import msgspec

from bough.git.decode import shown
from bough.git.finish.forge_programs import ForgeFailed, call, call_text, check_login, dicts
from bough.git.finish.forges import Forge
from bough.model.values.visible import visible

CheckStatus = Literal["pending", "passed", "failed", "skipped"]
RequestStatus = Literal["open", "merged", "closed"]
# At most this many checks and threads are read; servers answer with as many per page.
MOST = 100
# The beginning of a comment or name is enough to see what it is about; longer ones are cut.
LONGEST_COMMENT = 4_000
# Ids and commits are short, and addresses that a browser opens are no longer than this.
LONGEST_ID = 100
LONGEST_ADDRESS = 2_000
# Of all comments of a pull request together, this much is read: on a public project anybody may write them. Prompts
# hold less.
LONGEST_COMMENTS = 1_000_000
# Of a thread the last comments are read.
MOST_COMMENTS = 10
# On a public project anybody may comment. These may change the project.
_MEMBERS = ("OWNER", "MEMBER", "COLLABORATOR")
# The lowest level of GitLab that may push.
_DEVELOPER = 30
_GITHUB: dict[str, CheckStatus] = {
    **dict.fromkeys(("success", "neutral"), "passed"),
    **dict.fromkeys(("skipped", "stale"), "skipped"),
    **dict.fromkeys(("failure", "error", "timed_out", "cancelled", "startup_failure", "action_required"), "failed"),
}
_GITLAB: dict[str, CheckStatus] = {
    "success": "passed",
    **dict.fromkeys(("failed", "canceled"), "failed"),
    **dict.fromkeys(("skipped", "manual"), "skipped"),
}
_THREADS = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(last: 100) { nodes {
    id isResolved path line comments(last: 10) { nodes {
      id authorAssociation author { login } body url } } } } } } }"""


class CheckRun(msgspec.Struct, rename="camel"):
    """One check of the last commit. `hasLog` says that its output can be read."""

    id: str
    name: str
    status: CheckStatus
    url: str | None = None
    has_log: bool = False


class ThreadComment(msgspec.Struct):
    """One comment of a thread. `member` says that its author may change the project."""

    author: str
    text: str
    member: bool = False


class RequestThread(msgspec.Struct, rename="camel"):
    """A thread of review comments that is not resolved. `last` is the id of its last comment."""

    id: str
    last: str
    comments: list[ThreadComment]
    path: str | None = None
    line: int | None = None
    url: str | None = None


class RequestState(msgspec.Struct):
    """A pull request as the server tells it."""

    state: RequestStatus
    url: str
    head: str
    checks: list[CheckRun]
    threads: list[RequestThread]


async def read_request(forge: Forge, number: int) -> RequestState:
    """Returns the state, checks and open threads of a pull request. Raises `ForgeFailed` if no program can tell."""
    await check_login(forge)
    read = _read_github if forge.kind == "github" else _read_gitlab
    try:
        state = await read(forge, number)
        _cut_comments(state.threads)
        return state
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, msgspec.ValidationError) as error:
        raise ForgeFailed(f"The server of the {forge.noun} answered with something unexpected.") from error


async def read_log(forge: Forge, check: CheckRun) -> str:
    """Returns the output of a check. Raises `ForgeFailed` if there is none."""
    if not check.has_log:
        raise ForgeFailed("The check has no log that can be read.")
    number = quote(check.id.rpartition(":")[2], safe="")
    if forge.kind == "github":
        return await call_text(forge, f"repos/{forge.project}/actions/jobs/{number}/logs")
    return await call_text(forge, f"projects/{quote(forge.project, safe='')}/jobs/{number}/trace")


async def _read_github(forge: Forge, number: int) -> RequestState:
    start = f"repos/{forge.project}"
    request = await call(forge, "GET", f"{start}/pulls/{number}")
    head = _id(request["head"]["sha"])
    state: RequestStatus = "merged" if request.get("merged") else "open" if request["state"] == "open" else "closed"
    if state != "open":
        return RequestState(state, _https(request["html_url"]), head, [], [])
    sha = quote(head, safe="")
    runs = await call(forge, "GET", f"{start}/commits/{sha}/check-runs?per_page={MOST}")
    statuses = await call(forge, "GET", f"{start}/commits/{sha}/status?per_page={MOST}")
    checks = [
        CheckRun(
            f"run:{_id(run['id'])}",
            _visible(run["name"]),
            _GITHUB.get(str(run.get("conclusion")), "pending") if run["status"] == "completed" else "pending",
            _link(run.get("html_url")),
            _inner(run, "app", "slug") == "github-actions",
        )
        for run in dicts(runs["check_runs"])[:MOST]
    ]
    checks += [
        CheckRun(
            f"status:{_id(item['id'])}",
            _visible(item["context"]),
            _GITHUB.get(str(item["state"]), "pending"),
            _link(item.get("target_url")),
        )
        for item in dicts(statuses["statuses"])[:MOST]
    ]
    owner, _, name = forge.project.partition("/")
    variables = {"owner": owner, "name": name, "number": number}
    answer = await call(forge, "POST", "graphql", {"query": _THREADS, "variables": variables})
    nodes = dicts(answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"])
    threads: list[RequestThread] = []
    for node in nodes:
        if not node["isResolved"]:
            notes = dicts(node["comments"]["nodes"])
            members = {_inner(note, "author", "login") for note in notes if note.get("authorAssociation") in _MEMBERS}
            threads.append(_thread(node, notes, "login", members))
    return RequestState(state, _https(request["html_url"]), head, checks, [item for item in threads if item.comments])


async def _read_gitlab(forge: Forge, number: int) -> RequestState:
    start = f"projects/{quote(forge.project, safe='')}"
    request = await call(forge, "GET", f"{start}/merge_requests/{number}")
    head = _id(request["sha"])
    states: dict[str, RequestStatus] = {"opened": "open", "locked": "open", "merged": "merged"}
    state = states.get(request["state"], "closed")
    if state != "open":
        return RequestState(state, _https(request["web_url"]), head, [], [])
    pipeline: dict[str, Any] = request.get("head_pipeline") or {}
    jobs: Any = []
    if pipeline.get("id"):
        jobs = await call(forge, "GET", f"{start}/pipelines/{int(pipeline['id'])}/jobs?per_page={MOST}")
    checks = [
        CheckRun(
            f"job:{_id(job['id'])}",
            _visible(job["name"]),
            "skipped"
            if job.get("allow_failure") and job["status"] == "failed"
            else _GITLAB.get(job["status"], "pending"),
            _link(job.get("web_url")),
            True,
        )
        for job in dicts(jobs)[:MOST]
    ]
    discussions = await call(forge, "GET", f"{start}/merge_requests/{number}/discussions?per_page={MOST}")
    threads: list[RequestThread] = []
    members = await _gitlab_members(forge, start) if dicts(discussions) else set[Any]()
    for item in dicts(discussions)[:MOST]:
        notes = [note for note in dicts(item["notes"]) if note.get("resolvable")]
        if notes and not all(note.get("resolved") for note in notes):
            position: dict[str, Any] = notes[0].get("position") or {}
            fields = {"id": item["id"], "path": position.get("new_path"), "line": position.get("new_line")}
            threads.append(_thread(fields, notes, "username", members))
    return RequestState(state, _https(request["web_url"]), head, checks, threads)


async def _gitlab_members(forge: Forge, start: str) -> set[Any]:
    """Returns the names of those who may push; nobody if the server does not tell."""
    try:
        members = await call(forge, "GET", f"{start}/members/all?per_page={MOST}")
    except ForgeFailed:
        return set()
    return {member.get("username") for member in dicts(members) if member.get("access_level", 0) >= _DEVELOPER}


def _thread(node: dict[str, Any], notes: list[dict[str, Any]], author: str, members: set[Any]) -> RequestThread:
    comments: list[ThreadComment] = []
    for note in notes[-MOST_COMMENTS:]:
        name = _inner(note, "author", author)
        text = _visible(note["body"])
        comments.append(ThreadComment(_visible(name or "somebody"), text, name is not None and name in members))
    last = _id(notes[-1]["id"]) if notes else ""
    url = _link(notes[-1].get("url")) if notes else None
    path, line = node.get("path"), cast("int | None", node.get("line"))
    path = _visible(path) if path is not None else None
    return msgspec.convert(
        {"id": _id(node["id"]), "last": last, "comments": comments, "path": path, "line": line, "url": url},
        RequestThread,
        from_attributes=True,
    )


def _cut_comments(threads: list[RequestThread]) -> None:
    left = LONGEST_COMMENTS
    for thread in threads:
        for comment in thread.comments:
            comment.text = comment.text[:left]
            left -= len(comment.text)


def _inner(node: dict[str, Any], name: str, field: str) -> Any:
    """Returns a field of an object inside another, None if there is no such object."""
    inner: Any = node.get(name)
    return cast("dict[str, Any]", inner).get(field) if isinstance(inner, dict) else None


def _visible(text: Any) -> str:
    """Returns the beginning of a text of the server with hidden characters as escapes: people decide by it what a
    session is told."""
    return visible(shown(str(text)[:LONGEST_COMMENT]))


def _id(value: Any) -> str:
    return str(value)[:LONGEST_ID]


def _link(url: Any) -> str | None:
    """Returns an address that a page may link."""
    return url if isinstance(url, str) and url.startswith("https://") and len(url) <= LONGEST_ADDRESS else None


def _https(url: Any) -> str:
    if (link := _link(url)) is None:
        raise ForgeFailed("The server answered with an address that is not https.")
    return link
