"""The route for files that went with prompts: their bytes, in such a way that no browser takes them for a page. Giving
them is part of a prompt, in `sessions` and `trees`."""

from __future__ import annotations

from urllib.parse import quote

from litestar import Response, Router, get

from bough.api.http.requests import Id, Services, errors
from bough.model.file import OPAQUE, SHOWN

# What an id stands for never changes; those who share a browser's cache share its cookie too.
CACHED = "private, max-age=3600"


@get("/files/{file_id:str}", responses=errors(404, 409), summary="Get a file that went with a prompt")
async def get_file(services: Services, file_id: Id) -> Response[bytes]:
    file = await services.files.get(file_id)
    shown = file.mime_type in SHOWN
    how = "inline" if shown else "attachment"
    headers = {
        "x-content-type-options": "nosniff",
        "content-disposition": f"{how}; filename*=UTF-8''{quote(file.name, safe='')}",
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": CACHED,
    }
    return Response(file.bytes, media_type=file.mime_type if shown else OPAQUE, headers=headers)


router = Router("/api", route_handlers=[get_file], tags=["files"])
