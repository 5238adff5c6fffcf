"""Pages that are a text in the program: to those without a token, and where the page was not built. Each is told to run
and show nothing but what is in it; which of them is shown when, `web` decides."""

from __future__ import annotations

import base64
import hashlib
import html
import re

HTML = "text/html"
NOTHING = "'none'"
# Whatever gets into a page from elsewhere is shown, never run: only what the text itself holds is, by its hash.
INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
REST = "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
ALWAYS = {"referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "cache-control": "no-store"}

HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bough</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>
body { font: 16px/1.6 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1.25rem }
h1 { font-size: 1.4rem } code { font-family: ui-monospace, monospace; padding: .1em .35em; border-radius: .3em;
background: #8883 } li { margin: .5rem 0 }
</style>{{more}}</head><body><main>
"""
LOCKED = (
    HEAD.replace("{{more}}", "")
    + """<h1>This Bough is locked</h1>
<p>Its page opens with a link that carries the server's token, once for each browser. To find the link again:</p>
<ul>
<li>run <code>bough open</code> on the machine where the server runs: it opens the page in your browser, or</li>
<li>run <code>bough open --print</code> there, and open the link that it prints, or</li>
<li>look at the terminal where <code>bough serve</code> was started: the link is what it printed first.</li>
</ul>
<p>In a clone that is <code>.venv/bin/bough</code>; a server with its own data folder wants <code>--data DIR</code>.</p>
</main></body></html>
"""
)
MISSING = (
    HEAD.replace("{{more}}", "")
    + """<h1>The page has not been built</h1>
<p>This server works, but was installed without its page. In the clone that it runs from, build it with</p>
<p><code>make web</code></p>
<p>and load this again; the server need not be restarted. Meanwhile everything can be done with the command
<code>bough</code>, and over the <a href="/docs">API</a>.</p>
</main></body></html>
"""
)


def headers(page: str) -> dict[str, str]:
    """What a browser is told with a page: to run and show what is in it, and to talk to this server alone."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in INLINE.findall(page):
        hashes[kind].append(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
    own = "; ".join(f"{kind}-src {' '.join(found) or NOTHING}" for kind, found in hashes.items())
    return {"content-security-policy": f"default-src 'none'; {own}; {REST}", **ALWAYS}


def again(address: str) -> str:
    """A page that asks for an address once more, as a page of this server."""
    shown = html.escape(address, quote=True)
    refresh = f'<meta http-equiv="refresh" content="0; url={shown}">'
    return HEAD.replace("{{more}}", refresh) + f'<p><a href="{shown}">Go on</a></p>\n</main></body></html>\n'
