"""The route that returns a file of a prompt, with headers that keep a browser from treating it as a page."""

from __future__ import annotations

from urllib.parse import quote

from litestar import Response, Router, get

from bough.api.http.requests import Id, Services, errors
from bough.model.values.file_type import OPAQUE, SHOWN

# The file of an id never changes; browsers keep one cache per origin.
CACHED = "private, max-age=3600"


@get("/files/{file_id:str}", responses=errors(404, 409), summary="Get a file that was attached to a prompt")
async def get_file(services: Services, file_id: Id) -> Response[bytes]:
    file = await services.files.get(file_id)
    shown = file.mime_type in SHOWN
    disposition = "inline" if shown else "attachment"
    headers = {
        "x-content-type-options": "nosniff",
        "content-disposition": f"{disposition}; filename*=UTF-8''{quote(file.name, safe='')}",
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": CACHED,
    }
    return Response(file.bytes, media_type=file.mime_type if shown else OPAQUE, headers=headers)


router = Router("/api", route_handlers=[get_file], tags=["files"])
