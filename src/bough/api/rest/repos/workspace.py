"""Routes that show people what is below the workspace root: repositories to add, and folders to choose from."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from bough.api.http.requests import Caller, Services, errors
from bough.core.new_repos.find import FoundRepos
from bough.core.new_repos.folders import FolderList


@get("/workspace/repos", responses=errors(), summary="Find git repositories below the workspace root")
async def find_repos(services: Services, caller: Caller) -> FoundRepos:
    return await services.workspace_folders.find(caller)


@get("/workspace/folders", responses=errors(), summary="List the folders in a folder below the workspace root")
async def list_folders(
    services: Services,
    caller: Caller,
    path: Annotated[
        str | None, QueryParameter(description="The folder, absolute; the workspace root by default.")
    ] = None,
) -> FolderList:
    return await services.workspace_folders.list(caller, path)


router = Router("/api", route_handlers=[find_repos, list_folders], tags=["repos"])
