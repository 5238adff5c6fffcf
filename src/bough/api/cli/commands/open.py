"""`bough open`: the page of the running server in a browser, or its link. What the page is, and the trade of its token,
are the server's part."""

from __future__ import annotations

import http.server
import secrets
import threading
import webbrowser
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, Here, command
from bough.api.cli.framework.client import path
from bough.api.cli.framework.completion import ids

# A browser that is started for it needs a few seconds.
COMES_WITHIN = 20.0


def add_to(root: typer.Typer) -> None:
    command(root, "open")(open_page)


def open_page(
    here: Here,
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION",
            help="A session to show, by its id or 8 characters of it.",
            autocompletion=ids("sessions", "title"),
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the link instead.")] = False,
) -> int:
    """Open the page of the running server in a browser.

    Its link carries the token, which the browser trades for a cookie: it is wanted once for each browser.
    """
    if session is None:
        # Shows that somebody is there and knows the token.
        here.client.get(path("boards"), limit=1)
        place = "/"
    else:
        place = f"/session/{quote(here.client.get(path('sessions', session)).value['id'])}"
    url, token = here.place.find()
    link = f"{url}{place}?{urlencode({'token': token})}"
    opened = not show and hand_over(link)
    if here.json:
        output.document({"link": link, "opened": opened})
    elif not opened:
        output.text(link.encode())
    if opened or show:
        return DONE
    output.note("No browser came for it here. Open this link in one; it carries the token.")
    return FAILED


def hand_over(link: str) -> bool:
    """Gives the link to the browser of this machine; whether that came for it. Other people can read command lines, so
    the browser is started with an address that works once, and leads to the link."""
    ticket = f"/{secrets.token_urlsafe(24)}"
    first = threading.Lock()
    came = threading.Event()

    class Desk(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            mine = secrets.compare_digest(self.path.encode(), ticket.encode()) and first.acquire(blocking=False)
            self.send_response(303 if mine else 404)
            if mine:
                self.send_header("location", link)
            self.send_header("cache-control", "no-store")
            self.send_header("content-length", "0")
            self.end_headers()
            if mine:
                came.set()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing: the terminal is the command's."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Desk) as desk:
        serving = threading.Thread(target=desk.serve_forever, args=(0.02,), daemon=True)
        serving.start()
        try:
            return webbrowser.open(f"http://127.0.0.1:{desk.server_port}{ticket}") and came.wait(COMES_WITHIN)
        finally:
            desk.shutdown()
            serving.join()
