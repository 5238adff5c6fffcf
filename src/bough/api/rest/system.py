"""Routes about the server itself: health, metrics, settings and the API's description."""

from __future__ import annotations

import html
import os
from typing import Any

import msgspec
from litestar import Request, Response, Router, get

from bough import __version__, load_settings
from bough.api.agents import default_agent
from bough.api.http.built_in_pages import HTML, headers
from bough.api.http.openapi import document
from bough.api.http.requests import Services, errors
from bough.core.environment.mask_shown_values import masked_url
from bough.core.overview.counts import counts
from bough.observe import metrics


class Health(msgspec.Struct):
    status: str
    version: str


class Setting(msgspec.Struct):
    """A setting: its current value, description and environment variable."""

    name: str
    value: str | bool | int | float
    description: str
    variable: str


class SettingList(msgspec.Struct):
    settings: list[Setting]


@get("/api/health", responses={403: errors()[403]}, summary="Check that the server works; needs no token", security=[])
async def health(services: Services) -> Health:
    await services.health.check()
    return Health("ok", __version__)


@get("/api/settings", responses=errors(), summary="List the settings of this server")
async def list_settings(services: Services, request: Request[Any, Any, Any]) -> SettingList:
    values: dict[str, Any] = {name: getattr(services.settings, name) for name in load_settings.FIELDS}
    rows = [
        Setting(name, value, load_settings.describe(name), load_settings.variable(name))
        for name, value in (values | _effective(services, request)).items()
    ]
    return SettingList(rows)


def _effective(services: Services, request: Request[Any, Any, Any]) -> dict[str, str | int]:
    """Returns the effective values of settings that have computed defaults, without a database password."""
    configured = services.settings
    address = configured.database_url
    effective: dict[str, str | int] = {
        "data": str(configured.data_path),
        "workspace_root": os.path.realpath(configured.root_path),
        "database": masked_url(address) if "@" in address or "?" in address else address,
        "default_agent": default_agent(services.catalog, configured.default_agent),
    }
    server = request.scope["server"]
    if server is not None and server[1] is not None:
        effective["port"] = server[1]
    return effective


@get(
    "/metrics", media_type=metrics.CONTENT_TYPE, responses=errors(), summary="Get metrics in the Prometheus text format"
)
async def get_metrics(services: Services) -> Response[bytes]:
    values = await counts(services.store, services.runner, services.hub)
    return Response(metrics.render(values), media_type=metrics.CONTENT_TYPE)


@get("/openapi.json", include_in_schema=False)
async def openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    return Response(msgspec.json.encode(document(request.app)), media_type="application/json")


@get("/docs", include_in_schema=False)
async def docs(request: Request[Any, Any, Any]) -> Response[str]:
    """Returns a self-contained page that lists all routes."""
    schema = document(request.app)
    rows: list[str] = []
    for path, item in sorted(schema["paths"].items()):
        for method, operation in item.items():
            names = ", ".join(parameter["name"] for parameter in operation.get("parameters", []))
            cells = (method.upper(), path, names, operation.get("summary") or "")
            rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    page = DOCS_PAGE.replace("{{version}}", html.escape(__version__)).replace("{{rows}}", "\n".join(rows))
    return Response(page, media_type=HTML, headers=headers(page))


DOCS_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Bough API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem;
border-bottom: 1px solid #8884 } td:nth-child(-n+2) { font-family: ui-monospace, monospace; white-space: nowrap }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #dde } a { color: #8bf } }
</style>
<h1>Bough API {{version}}</h1>
<p>The full specification, with all bodies and answers, is at <code>/openapi.json</code>, which needs the
token. Events are available on <code>WS /api/events</code> and as server-sent events on
<code>GET /api/events</code>.</p>
<table><thead><tr><th>Method</th><th>Path</th><th>Parameters</th><th>Summary</th></tr></thead><tbody>
{{rows}}
</tbody></table></html>
"""

router = Router("/", route_handlers=[health, list_settings, get_metrics, openapi, docs], tags=["system"])
