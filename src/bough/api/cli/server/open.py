"""`bough open`: opens the running server's page in a browser, or prints its link."""

from __future__ import annotations

import http.server
import secrets
import threading
import webbrowser
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.selectors import SESSION

# Seconds; a browser may have to start first.
COMES_WITHIN = 20.0


def add_to(root: typer.Typer) -> None:
    command(root, "open")(open_page)


def open_page(
    ctx: CommandContext,
    session: Annotated[
        str | None,
        SESSION,
        typer.Argument(
            metavar="SESSION",
            help="Session to show: its id or 8 characters of it, its title, branch, repo or folder, or @last.",
            autocompletion=names("session"),
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the link instead of opening it.")] = False,
) -> int:
    """Open the running server's page in a browser.

    The link contains the token, which the browser exchanges for a key of its own; each browser needs it once.
    """
    if session is None:
        # Checks that the server answers and accepts the token.
        ctx.client.get(path("boards"), limit=1)
        page = "/"
    else:
        page = f"/session/{quote(ctx.client.get(path('sessions', session)).value['id'])}"
    url, token = ctx.target.find()
    link = f"{url}{page}?{urlencode({'token': token})}"
    opened = not show and hand_over(link)
    if ctx.json:
        output.document({"link": link, "opened": opened})
    elif not opened:
        output.text(link.encode())
    if opened or show:
        return DONE
    output.note("No browser opened it. Open this link in a browser; it contains the token.")
    return FAILED


def hand_over(link: str) -> bool:
    """Opens the link in this machine's browser and returns whether the browser fetched it. Other users can read command
    lines, so the browser is started with an address that works once and redirects to the link."""
    ticket = f"/{secrets.token_urlsafe(24)}"
    first = threading.Lock()
    fetched = threading.Event()

    class RedirectHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_first = secrets.compare_digest(self.path.encode(), ticket.encode()) and first.acquire(blocking=False)
            self.send_response(303 if is_first else 404)
            if is_first:
                self.send_header("location", link)
            self.send_header("cache-control", "no-store")
            self.send_header("content-length", "0")
            self.end_headers()
            if is_first:
                fetched.set()

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing, to keep the terminal clean."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), RedirectHandler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        serving.start()
        try:
            return webbrowser.open(f"http://127.0.0.1:{server.server_port}{ticket}") and fetched.wait(COMES_WITHIN)
        finally:
            server.shutdown()
            serving.join()
