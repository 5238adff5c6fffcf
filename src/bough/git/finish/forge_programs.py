"""Finds, opens and changes pull requests through the person's own `gh` or `glab`.

The address of a remote is written by agents, too. So a program runs only if the person logged it in to that very host,
and tokens from variables go only to the host that they are for. It runs in an empty folder, never in a repository."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from typing import Annotated, Any, cast
from urllib.parse import quote, urlencode

import msgspec

from bough.git.finish.forges import Forge, ForgeKind, RequestText
from bough.git.run import environment
from bough.git.safe import overrides
from bough.model.values.visible import visible
from bough.search_path import find_own_program

# Each call is one request to the server.
WITHIN = 30.0
LONGEST_REASON = 500
# Answers and logs are written by others, so that no more of them is held. Of a log the end is wanted.
MOST_ANSWER = 32 * 1024 * 1024
MOST_LOG = 256 * 1024
PROGRAMS: dict[ForgeKind, str] = {"github": "gh", "gitlab": "glab"}
_HOSTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gh": ("github.com", ("GH_HOST",)),
    "glab": ("gitlab.com", ("GITLAB_HOST", "GL_HOST")),
}
# Both programs would send these to whatever host they are told to ask.
_TOKENS = (
    *("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"),
    *("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN", "CI_JOB_TOKEN", "GLAB_ENABLE_CI_AUTOLOGIN"),
)
# These would print requests with their tokens, ask for a terminal, or name another project.
_DROPPED = ("DEBUG", "GH_DEBUG", "GLAB_DEBUG", "GLAB_DEBUG_HTTP", "GH_FORCE_TTY", "GH_REPO", "GITLAB_REPO")
_FIXED = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GLAB_CHECK_UPDATE": "false",
    "GLAB_SEND_TELEMETRY": "false",
    "NO_PROMPT": "1",
    "NO_COLOR": "1",
    "PAGER": "cat",
}


class ForgeFailed(Exception):
    """Raised with the reason why a pull request could not be read or written."""


class OpenRequest(msgspec.Struct, frozen=True):
    """A pull request that is open."""

    number: Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
    url: str
    title: str
    body: str
    base: str


class _Ended(msgspec.Struct, frozen=True):
    code: int
    out: bytes
    err: bytes


async def find_open(forge: Forge, branch: str) -> OpenRequest | None:
    """Returns the open pull request of a branch, if any. Raises `ForgeFailed` if no program can tell."""
    await check_login(forge)
    if forge.kind == "github":
        query = {"head": f"{forge.owner}:{branch}", "state": "open", "per_page": "1"}
    else:
        query = {"source_branch": branch, "state": "opened", "per_page": "1"}
    requests = await call(forge, "GET", f"{_endpoint(forge)}?{urlencode(query, quote_via=quote, errors='replace')}")
    if not isinstance(requests, list):
        raise ForgeFailed(f"{PROGRAMS[forge.kind]} answered with something other than a list.")
    items = cast("list[Any]", requests)
    return _request(forge, items[0]) if items else None


async def open_request(forge: Forge, text: RequestText, *, draft: bool) -> OpenRequest:
    """Opens a pull request."""
    if forge.kind == "github":
        fields = {"title": text.title, "body": text.body, "head": text.branch, "base": text.base, "draft": draft}
    else:
        title = f"Draft: {text.title}" if draft else text.title
        fields = {"title": title, "description": text.body, "source_branch": text.branch, "target_branch": text.base}
    return _request(forge, await call(forge, "POST", _endpoint(forge), fields))


async def change_request(forge: Forge, request: OpenRequest, text: RequestText) -> OpenRequest:
    """Changes the title, text and base of an open pull request."""
    if forge.kind == "github":
        method, fields = "PATCH", {"title": text.title, "body": text.body, "base": text.base}
    else:
        method, fields = "PUT", {"title": text.title, "description": text.body, "target_branch": text.base}
    return _request(forge, await call(forge, method, f"{_endpoint(forge)}/{request.number}", fields))


def _endpoint(forge: Forge) -> str:
    if forge.kind == "github":
        return f"repos/{forge.project}/pulls"
    return f"projects/{quote(forge.project, safe='')}/merge_requests"


def _request(forge: Forge, answer: Any) -> OpenRequest:
    try:
        if forge.kind == "github":
            fields = {"number": answer["number"], "url": answer["html_url"], "base": answer["base"]["ref"]}
            fields["body"] = answer["body"] or ""
        else:
            fields = {"number": answer["iid"], "url": answer["web_url"], "base": answer["target_branch"]}
            fields["body"] = answer["description"] or ""
        request = msgspec.convert({**fields, "title": answer["title"]}, OpenRequest)
    except (KeyError, TypeError, IndexError, msgspec.ValidationError) as error:
        raise ForgeFailed(f"{PROGRAMS[forge.kind]} answered with something other than a {forge.noun}.") from error
    if not request.url.startswith("https://"):
        raise ForgeFailed(f"{PROGRAMS[forge.kind]} answered with an address that is not https.")
    return request


async def check_login(forge: Forge) -> None:
    """Raises `ForgeFailed` unless a program for the server exists and is logged in to this very host. Asks no other
    host than the program's own one."""
    name = PROGRAMS.get(forge.kind)
    if name is None:
        raise ForgeFailed(f"Bough opens no {forge.noun}s on {forge.host} by itself.")
    if await asyncio.to_thread(find_own_program, name) is None:
        raise ForgeFailed(f"{name} is not installed where the server looks for programs.")
    if name == "gh":
        looks = [("auth", "token", "--hostname", forge.host)]
    elif _is_own_host(name, forge.host):
        looks = [("auth", "status", "--hostname", forge.host)]
    else:
        looks = [("config", "get", key, "--host", forge.host) for key in ("token", "user")]
    for words in looks:
        ended = await _run(forge, words)
        if ended.code == 0 and (ended.out.strip() or "status" in words):
            return
    raise ForgeFailed(
        f"{name} is not logged in to {forge.host}. Run `{name} auth login --hostname {forge.host}` as the user of the "
        "server."
    )


async def call(forge: Forge, method: str, endpoint: str, fields: dict[str, Any] | None = None) -> Any:
    """Sends a request through the program's `api` command: it reads no repository, starts no editor and takes the text
    from its input."""
    words = ["api", "--hostname", forge.host, "--method", method]
    if fields is not None:
        words += ["--header", "Content-Type: application/json", "--input", "-"]
    ended = await _run(forge, (*words, endpoint), msgspec.json.encode(fields) if fields is not None else None)
    if len(ended.out) >= MOST_ANSWER:
        raise ForgeFailed(f"{PROGRAMS[forge.kind]} answered with more than {MOST_ANSWER // 2**20} MiB.")
    answer = None
    # Too deep an answer is none, either.
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        answer = msgspec.json.decode(ended.out)
    if ended.code != 0 or answer is None:
        raise ForgeFailed(_reason(PROGRAMS[forge.kind], ended, answer))
    return answer


async def call_text(forge: Forge, endpoint: str) -> str:
    """Returns the end of an answer that is no JSON, such as a log."""
    ended = await _run(forge, ("api", "--hostname", forge.host, "--method", "GET", endpoint), most=MOST_LOG)
    if ended.code != 0:
        raise ForgeFailed(_reason(PROGRAMS[forge.kind], ended, None))
    return ended.out.decode("utf-8", "replace")


def _reason(name: str, ended: _Ended, answer: Any) -> str:
    words: list[str] = []
    if isinstance(answer, dict):
        fields = cast("dict[str, Any]", answer)
        errors: Any = fields.get("errors")
        words += [str(fields.get("message") or fields.get("error") or "")]
        words += [str(item.get("message") or "") for item in dicts(errors)]
    text = ": ".join(dict.fromkeys(word for word in words if word)) or ended.err.decode("utf-8", "replace")
    line = " ".join(visible(text).split())
    line = line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
    return f"{name} failed: {line or f'exit code {ended.code}'}"


def dicts(value: Any) -> list[dict[str, Any]]:
    """Returns the objects of a list; nothing of anything else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _is_own_host(name: str, host: str) -> bool:
    usual, variables = _HOSTS[name]
    named = {os.environ.get(variable, "").partition("://")[2] or os.environ.get(variable, "") for variable in variables}
    return host == usual or host in {value.strip("/").lower() for value in named}


def _variables(name: str, host: str, folder: str) -> dict[str, str]:
    """Returns the person's environment, with nothing that leads elsewhere."""
    dropped = _DROPPED if _is_own_host(name, host) else (*_DROPPED, *_TOKENS)
    env = {key: value for key, value in environment().items() if key not in dropped}
    # The program asks git about the folder that it is in: nothing there and nothing above it counts.
    env["GIT_CEILING_DIRECTORIES"] = os.path.dirname(folder)
    return env | overrides.as_variables({**overrides.SETTINGS, **overrides.NO_HOOKS}) | _FIXED


async def _run(forge: Forge, words: tuple[str, ...], stdin: bytes | None = None, most: int = MOST_ANSWER) -> _Ended:
    """Runs the program in an empty folder of its own, and ends it and its children if it takes too long. Returns at
    most the last `most` bytes of its output."""
    name = PROGRAMS[forge.kind]
    program = await asyncio.to_thread(find_own_program, name)
    if program is None:
        raise ForgeFailed(f"{name} is not installed where the server looks for programs.")
    with tempfile.TemporaryDirectory(prefix="bough-forge-") as folder:
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *words,
                cwd=folder,
                env=_variables(name, forge.host, folder),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ForgeFailed(f"{name} could not be started: {error.strerror}.") from error
        try:
            async with asyncio.timeout(WITHIN):
                out, err, _ = await asyncio.gather(
                    _end_of(process.stdout, most), _end_of(process.stderr, MOST_LOG), _feed(process.stdin, stdin or b"")
                )
                await process.wait()
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            if isinstance(error, TimeoutError):
                raise ForgeFailed(f"{name} took longer than {WITHIN:.0f} s.") from None
            raise
    return _Ended(process.returncode or 0, out, err)


async def _end_of(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """Reads everything, and returns the last `most` bytes."""
    assert stream is not None
    text = bytearray()
    while chunk := await stream.read(65536):
        text += chunk
        if len(text) > 2 * most:
            del text[:-most]
    return bytes(text[-most:])


async def _feed(stream: asyncio.StreamWriter | None, text: bytes) -> None:
    """Writes the input of a program, which may end without reading it."""
    assert stream is not None
    with contextlib.suppress(ConnectionError):
        stream.write(text)
        await stream.drain()
    with contextlib.suppress(ConnectionError):
        stream.close()
        await stream.wait_closed()
