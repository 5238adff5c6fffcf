"""Routes for reviews: changed files, viewed marks, comments, and sending them as one prompt."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, delete, get, patch, post, put
from litestar.params import JSONBody, PathParameter, QueryParameter

from bough.api.http.requests import Caller, Id, Services, errors, with_key
from bough.core.review.changed_files import FileReview
from bough.core.review.drafts import CommentPatch, NewComment, Viewed, ViewedFile
from bough.core.review.service import Review, ReviewComments, SendReview, SentReview
from bough.errors import Invalid
from bough.model.review import Comment, SubjectKind

Kind = Annotated[str, PathParameter(description="What the review is about: `worktree`, `session` or `task`.")]
KINDS: dict[str, SubjectKind] = {"worktree": "worktree", "session": "session", "task": "task"}


def _kind(text: str) -> SubjectKind:
    if text not in KINDS:
        raise Invalid("bad_subject", f"{text!r} cannot be reviewed. Use one of: {', '.join(KINDS)}.")
    return KINDS[text]


@get("/reviews/{kind:str}/{subject_id:str}", responses=errors(404, 409), summary="List changed files and comments")
async def get_review(services: Services, caller: Caller, kind: Kind, subject_id: Id) -> Review:
    return await services.reviews.get(caller, _kind(kind), subject_id)


@get("/reviews/{kind:str}/{subject_id:str}/file", responses=errors(404, 409), summary="Get the change of one file")
async def get_reviewed_file(
    services: Services,
    kind: Kind,
    subject_id: Id,
    path: Annotated[str, QueryParameter(description="The file, relative to the repo's top folder.")],
    whole: Annotated[bool, QueryParameter(description="Include all unchanged lines.")] = False,
) -> FileReview:
    return await services.reviews.file(_kind(kind), subject_id, path, whole=whole)


@get(
    "/reviews/{kind:str}/{subject_id:str}/comments",
    responses=errors(404, 409),
    summary="List your draft and all sent comments",
)
async def list_comments(services: Services, caller: Caller, kind: Kind, subject_id: Id) -> ReviewComments:
    return await services.reviews.comments(caller, _kind(kind), subject_id)


@put(
    "/reviews/{kind:str}/{subject_id:str}/viewed",
    responses=errors(404, 409, 413),
    summary="Mark a file as viewed until it changes",
)
async def view_file(
    services: Services, caller: Caller, kind: Kind, subject_id: Id, data: JSONBody[ViewedFile]
) -> Viewed:
    return await services.reviews.view(caller, _kind(kind), subject_id, data)


@post(
    "/reviews/{kind:str}/{subject_id:str}/comments",
    responses=errors(404, 409, 413),
    summary="Add a comment on lines or a message to your draft",
)
async def add_comment(
    services: Services, caller: Caller, kind: Kind, subject_id: Id, data: JSONBody[NewComment]
) -> Comment:
    return await services.reviews.comment(with_key(caller, data.idempotency_key), _kind(kind), subject_id, data)


@patch(
    "/review-comments/{comment_id:str}", responses=errors(404, 409, 413), summary="Change a comment that was not sent"
)
async def edit_comment(services: Services, caller: Caller, comment_id: Id, data: JSONBody[CommentPatch]) -> Comment:
    return await services.reviews.edit(caller, comment_id, data)


@delete(
    "/review-comments/{comment_id:str}",
    status_code=200,
    responses=errors(404, 409),
    summary="Delete a comment that was not sent",
)
async def remove_comment(services: Services, caller: Caller, comment_id: Id) -> Comment:
    return await services.reviews.remove(caller, comment_id)


@post(
    "/reviews/{kind:str}/{subject_id:str}/send",
    status_code=202,
    responses=errors(404, 409, 413, 429),
    summary="Send all comments of your draft as one prompt",
)
async def send_review(
    services: Services, caller: Caller, kind: Kind, subject_id: Id, data: JSONBody[SendReview]
) -> SentReview:
    return await services.reviews.send(with_key(caller, data.idempotency_key), _kind(kind), subject_id, data)


router = Router(
    "/api",
    route_handlers=[
        get_review,
        get_reviewed_file,
        list_comments,
        view_file,
        add_comment,
        edit_comment,
        remove_comment,
        send_review,
    ],
    tags=["reviews"],
)
