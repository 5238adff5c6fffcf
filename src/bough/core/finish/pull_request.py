"""Plans opening or updating a pull request, and proposes its title and text from the session and its commits. Where no
program can do it, a person gets the link and the text."""

from __future__ import annotations

from bough.core.finish.checks.rows import track
from bough.core.finish.commit import ProposedMessage
from bough.core.finish.folder import WorktreeFolder, find_base, find_remote
from bough.core.finish.push import plan_push
from bough.core.finish.remote_branches import RemoteBranches
from bough.core.finish.requests import Finished, FinishPlan, PullRequest, PullRequestBody, PushBody, counted
from bough.core.store.transactions import Change
from bough.errors import Conflict, Invalid
from bough.git.decode import shown
from bough.git.finish import forge_programs
from bough.git.finish.forge_programs import PROGRAMS, ForgeFailed, OpenRequest
from bough.git.finish.forges import Forge, RequestText, find_forge, request_link
from bough.git.run import git
from bough.model.values.visible import visible

# The longest title and text that the servers take.
LONGEST_TITLE = 255
LONGEST_BODY = 60_000
# A proposed text lists at most this many commits.
MOST_COMMITS = 50


async def plan_pull_request(
    folder: WorktreeFolder, body: PullRequestBody, proposed: ProposedMessage, remote_branches: RemoteBranches
) -> FinishPlan:
    """Plans a push and a pull request. Asks the server whether one is open, if a program of the person's can."""
    branch = folder.own_branch
    base = await find_base(folder, body.base)
    if base.branch == branch:
        raise Conflict("no_base", f"{branch} is the base branch itself. Name the branch to merge into.")
    commits = f"{base.sha}..{folder.head}"
    total = int(await git(folder.path, "rev-list", "--count", commits))
    if not total:
        raise Conflict("nothing_to_merge", f"{branch} has no commit that {base.name} lacks. Commit something first.")
    log = await git(folder.path, "log", f"--max-count={MOST_COMMITS}", "--format=%s", commits)
    push = await plan_push(
        folder,
        PushBody(
            remote=body.remote,
            rewrite=body.rewrite,
            replaces=body.replaces,
            dry_run=body.dry_run,
            expected_address=body.expected_address,
        ),
        remote_branches,
    )
    forge = find_forge(await find_remote(folder, branch, body.remote))
    title, text = _checked(body, *propose_request(proposed, log.split("\n")[:-1], total))
    request = PullRequest(title, text, branch, base.branch, body.draft)
    finished = Finished(
        "pull-request", folder.row.id, body.dry_run, branch=branch, base=base.branch, pull_request=request
    )
    opened = await _find(forge, request)
    if opened is not None:
        _take_over(request, opened, body)
    _link(forge, request)
    finished.steps = [*push.finished.steps, _step(forge, request, opened, body)]

    async def act() -> None:
        await push.act()
        finished.sha = push.finished.sha
        if forge is not None and request.program is not None:
            try:
                await _send(forge, request, opened, body)
            except ForgeFailed as error:
                request.program, request.reason = None, str(error)
            _link(forge, request)
            finished.steps[-1] = _done(forge, request)

    async def store(change: Change) -> None:
        if forge is not None and request.url is not None and request.number is not None:
            await track(change, folder.row.id, forge, request.number, request.url)

    return FinishPlan(finished, act, store=store)


def _checked(body: PullRequestBody, proposed_title: str, proposed_text: str) -> tuple[str, str]:
    """Returns the title and text: the given ones, or the proposed ones. Raises `Invalid` for those no server takes."""
    title = " ".join((body.title if body.title is not None else proposed_title).split())
    text = (body.body if body.body is not None else proposed_text).strip()
    if not title or len(title) > LONGEST_TITLE or "\0" in title:
        raise Invalid("bad_message", f"Give a title of at most {LONGEST_TITLE} characters.")
    if len(text) > LONGEST_BODY or "\0" in text:
        raise Invalid("bad_message", f"The text may have at most {LONGEST_BODY} characters, and no NUL characters.")
    return title, text


def propose_request(proposed: ProposedMessage, subjects: list[str], total: int) -> tuple[str, str]:
    """Proposes a title and a text: the session's title, the agent's last words and the list of commits. Without a
    session, the newest commit is the title. `subjects` are the newest ones of `total` commits, the newest first."""
    title, _, text = proposed.message.partition("\n\n")
    if proposed.session_id is None:
        title, text = subjects[0], ""
    title = visible(shown(" ".join(title.split()))) or "Changes"
    title = title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"
    listed = [f"- {shown(subject)}" for subject in reversed(subjects)]
    if total > len(subjects):
        listed.insert(0, f"- {counted(total - len(subjects), 'earlier commit')}")
    commits = "Commits:\n\n" + "\n".join(listed)
    return title, visible(f"{text.strip()}\n\n{commits}" if text.strip() else commits)


async def _find(forge: Forge | None, request: PullRequest) -> OpenRequest | None:
    """Looks for an open pull request of the branch, and notes which program can write it, or why none can."""
    if forge is None:
        request.reason = "The remote's host does not tell which kind of server it is."
        return None
    try:
        opened = await forge_programs.find_open(forge, request.branch)
    except ForgeFailed as error:
        request.reason = str(error)
        return None
    request.program = PROGRAMS[forge.kind]
    return opened


def _take_over(request: PullRequest, opened: OpenRequest, body: PullRequestBody) -> None:
    """Keeps what an open pull request says, but for what is given."""
    request.url, request.number = opened.url, opened.number
    request.title = request.title if body.title is not None else opened.title
    request.body = request.body if body.body is not None else opened.body
    request.base = request.base if body.base is not None else opened.base


async def _send(forge: Forge, request: PullRequest, opened: OpenRequest | None, body: PullRequestBody) -> None:
    """Opens the pull request, or changes the open one."""
    if opened is None:
        opened = await forge_programs.open_request(forge, _text(request), draft=body.draft)
    elif (opened.title, opened.body, opened.base) != (request.title, request.body, request.base):
        opened = await forge_programs.change_request(forge, opened, _text(request))
    request.url, request.number = opened.url, opened.number


def _link(forge: Forge | None, request: PullRequest) -> None:
    """Sets the link, as long as there is no pull request."""
    is_needed = request.url is None
    request.link = request_link(forge, _text(request)) if forge is not None and is_needed else None


def _text(request: PullRequest) -> RequestText:
    return RequestText(request.branch, request.base, request.title, request.body)


def _step(forge: Forge | None, request: PullRequest, opened: OpenRequest | None, body: PullRequestBody) -> str:
    if forge is None or request.program is None:
        return _by_hand(request)
    if opened is None:
        draft = "draft " if body.draft else ""
        return (
            f"Open a {draft}{forge.noun} from {request.branch} into {request.base} of {forge.host}/{forge.project} "
            f"with {request.program}."
        )
    if (opened.title, opened.body, opened.base) == (request.title, request.body, request.base):
        return f"The {forge.noun} {opened.number} is open already and gets the new commits: {opened.url}"
    return f"Change the title, text or base of the {forge.noun} {opened.number}: {opened.url}"


def _done(forge: Forge, request: PullRequest) -> str:
    if request.program is None:
        return _by_hand(request)
    return f"The {forge.noun} {request.number} from {request.branch} into {request.base} is open: {request.url}"


def _by_hand(request: PullRequest) -> str:
    where = "at its address" if request.url else "with the link and the text" if request.link else "with the text"
    verb = "Change" if request.url else "Open"
    return f"{verb} the pull request by hand, {where}. {request.reason}"
