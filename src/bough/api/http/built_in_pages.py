"""Holds the built-in HTML pages: one for visitors without a token, and one for servers without a built web page. Their
headers let a browser run and load only what they contain."""

from __future__ import annotations

import base64
import hashlib
import html
import re

HTML = "text/html"
NO_SOURCE = "'none'"
# Only the page's own scripts and styles run, identified by their hashes; injected ones do not.
INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
REST = "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
ALWAYS = {"referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "cache-control": "no-store"}

HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bough</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>
body { font: 16px/1.6 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1.25rem }
h1 { font-size: 1.4rem } code { font-family: ui-monospace, monospace; padding: .1em .35em; border-radius: .3em;
background: #8883 } li { margin: .5rem 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
</style>{{more}}</head><body><main>
"""
LOCKED = (
    HEAD.replace("{{more}}", "")
    + """<h1>This Bough is locked</h1>
<p>Each browser needs a link with the server's token once, and again after it was signed out, after 30 days, and after
an upgrade that says so. To get the link, do one of these:</p>
<ul>
<li>Run <code>bough open</code> on the server's machine. It opens the page in your browser.</li>
<li>Run <code>bough open --print</code> there and open the link that it prints.</li>
<li>Look at the terminal where <code>bough serve</code> was started. It printed the link first.</li>
<li>If somebody gave you a token of your own, open this server's address with <code>/?token=TOKEN</code> after it.</li>
</ul>
<p>From a clone use <code>.venv/bin/bough</code>; with a custom data folder add <code>--data DIR</code>.</p>
</main></body></html>
"""
)
MISSING = (
    HEAD.replace("{{more}}", "")
    + """<h1>The page has not been built</h1>
{{failed}}<p>The server works, but has no page. To build it, run this in the server's clone:</p>
<p><code>make web</code></p>
<p>Then reload; you do not need to restart the server. Until then, use the <code>bough</code> command or the
<a href="/docs">API</a>.</p>
</main></body></html>
"""
)
BUILDING = (
    HEAD.replace("{{more}}", '<meta http-equiv="refresh" content="2">')
    + """<h1>The page is being built</h1>
<p>It appears here by itself, usually within a minute. The server already works: meanwhile, you can use the
<code>bough</code> command.</p>
</main></body></html>
"""
)


def unbuilt(reason: str | None) -> str:
    """Returns what people see instead of the page. The reason is empty while the page is being built, or the output
    of a build that failed."""
    if reason == "":
        return BUILDING
    if reason is None:
        return MISSING.replace("{{failed}}", "")
    shown = html.escape(reason)
    return MISSING.replace("{{failed}}", f"<p>The last build failed:</p>\n<pre>{shown}</pre>\n")


def headers(page: str) -> dict[str, str]:
    """Returns headers that let a browser run only the page's own code and connect only to this server."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in INLINE.findall(page):
        hashes[kind].append(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
    directives = "; ".join(f"{kind}-src {' '.join(values) or NO_SOURCE}" for kind, values in hashes.items())
    return {"content-security-policy": f"default-src 'none'; {directives}; {REST}", **ALWAYS}


def reload_page(address: str) -> str:
    """Returns a page that reloads an address as a same-site request, so that the browser sends our cookie."""
    shown = html.escape(address, quote=True)
    refresh = f'<meta http-equiv="refresh" content="0; url={shown}">'
    return HEAD.replace("{{more}}", refresh) + f'<p><a href="{shown}">Continue</a></p>\n</main></body></html>\n'
