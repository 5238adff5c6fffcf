"""The texts of the example workspace: files of its repositories, prompts in plain English, and the directives that the
demo agent follows for each prompt."""

from __future__ import annotations

TEST_RUN = """\
#!/bin/sh
echo "tests/test_limits.py ......"
echo "tests/test_keys.py ...."
echo "tests/test_routes.py .........."
echo
echo "20 passed in 0.84s"
"""
BENCH_RUN = """\
#!/bin/sh
echo "1,000 requests, 20 at a time"
echo "  median   4.1 ms"
echo "  99 %    11.8 ms"
"""

LIMITS = """\
import time


class Limiter:
    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self.hits = {}

    def allow(self, key: str) -> bool:
        now = time.monotonic()
        hits = [at for at in self.hits.get(key, ()) if now - at < self.seconds]
        self.hits[key] = [*hits, now]
        return len(hits) < self.most
"""
LIMITS_WAIT = LIMITS.replace("-> bool:", "-> float:").replace(
    "        return len(hits) < self.most\n",
    "        if len(hits) < self.most:\n            return 0.0\n        return self.seconds - (now - hits[0])\n",
)
LIMITS_WINDOW = """\
import time
from collections import deque


class Limiter:
    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self.hits: dict[str, deque[float]] = {}

    def allow(self, key: str) -> bool:
        now = time.monotonic()
        hits = self.hits.setdefault(key, deque())
        while hits and now - hits[0] >= self.seconds:
            hits.popleft()
        hits.append(now)
        return len(hits) <= self.most
"""
ORDERS = """\
def orders(page: int = 1) -> list[Order]:
    first = (page - 1) * 50
    return query("SELECT * FROM orders ORDER BY id LIMIT 50 OFFSET ?", first)
"""
ORDERS_KEYSET = """\
def orders(after: int = 0, limit: int = 50) -> list[Order]:
    return query("SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?", after, limit)
"""
SEARCH = """\
export function search(pages, words) {
  return pages.filter((page) => page.text.includes(words));
}
"""
SEARCH_INDEX = """\
const index = new Map();

export function build(pages) {
  for (const page of pages)
    for (const word of page.text.toLowerCase().split(/\\W+/))
      index.set(word, (index.get(word) ?? new Set()).add(page));
}

export function search(words) {
  const sets = words.toLowerCase().split(/\\W+/).map((word) => index.get(word) ?? new Set());
  return sets.reduce((all, one) => all.intersection(one));
}
"""
SEARCH_CACHE = """\
const seen = new Map();

export function search(pages, words) {
  if (!seen.has(words)) seen.set(words, pages.filter((page) => page.text.includes(words)));
  return seen.get(words);
}
"""

FILES: dict[str, dict[str, str]] = {
    "atlas-api": {
        "scripts/test": TEST_RUN,
        "scripts/bench": BENCH_RUN,
        "src/orders.py": ORDERS,
        "src/routes.py": 'ROUTES = ["/orders", "/keys", "/status"]\n',
    },
    "storefront": {"scripts/test": TEST_RUN, "package.json": '{"name": "storefront", "private": true}\n'},
    "docs-site": {"scripts/test": TEST_RUN, "src/search.js": SEARCH},
}

LIMIT = "Add a rate limit to the public API: 60 requests a minute for each key."
WAIT = "Clients should be told how long to wait. Return the seconds instead of yes or no."
GATEWAY = "Now put it in front of every route, and log who is turned away."
QUEUED = ("Write the line for the changelog.", "Open a pull request when the tests pass.")
WINDOW = "Try a sliding window instead, and compare the memory it needs."
TESTS = "Write tests for the limiter, also for clocks that jump."
GUIDE = "Describe the limits in the guide for people who use the API."
LOAD = "Measure what the limiter costs under load."
ASIDE = "Where are the counters kept?"
PAGES = "The list of orders gets slow after page 100. Find out why, and make it fast."
CHECKOUT = "Build the checkout in three steps: address, payment, summary."
REACT = "Upgrade to React 19 and tell me what had to change."
FASTER = "Search takes a second on long pages. Make it at least ten times faster."
READ = "Read how search works, and tell me where the time goes."
GERMAN = "Get the guides translated into German."

ANSWER = f"""\
The limiter is in place. Each key may ask **60 times a minute**; the next request is refused with `429`.

```python
if not limiter.allow(request.key):
    raise TooMany("Wait a moment, then ask again.")
```

| route | limit | why |
|---|---|---|
| `/orders` | 60 a minute | what most clients use |
| `/keys` | 10 a minute | guessing keys must be slow |
| `/status` | none | monitors ask it all the time |

All {20} tests pass. What is left to decide:

- whether trusted partners get a higher limit,
- where the counters live once there is more than one server."""

SCORE: list[tuple[str, str]] = [
    ("has reported", "[[say I have read the report, and go on with it in mind.]]"),
    (
        LIMIT,
        "[[think The routes share one entry point, so the limit can sit in front of all of them. A list of times "
        "for each key is enough for one server.]]"
        "[[plan Find where requests come in; Write the limiter; Use it in front of the routes; Run the tests]]"
        f"[[run cat src/routes.py]][[write src/limits.py {LIMITS}]][[run scripts/test]][[say {ANSWER}]]",
    ),
    (
        WAIT,
        f"[[write src/limits.py {LIMITS_WAIT}]][[run scripts/test]]"
        "[[say `allow` now returns the seconds to wait, `0.0` if there is no need to. It goes out as `Retry-After`.]]",
    ),
    (
        GATEWAY,
        "[[think The gateway calls each route by its name, so one wrapper will do.]]"
        "[[say I begin with the gateway. The wrapper asks the limiter first, and writes a line to the log for each "
        "request that it turns away.]][[run cat src/routes.py]][[say Next come the routes, one by one.]][[hang]]",
    ),
    (
        WINDOW,
        f"[[write src/limits.py {LIMITS_WINDOW}]][[run scripts/test]]"
        "[[say The sliding window needs about 40 % less memory, since old hits leave at once.]]",
    ),
    (
        TESTS,
        "[[write tests/test_limits.py def test_a_clock_that_jumps_back_lets_nobody_through() -> None:\n    ...\n]]"
        "[[run scripts/test]][[say Six tests for the limiter. One of them sets the clock back by an hour.]]",
    ),
    (
        GUIDE,
        "[[write docs/limits.md # Limits\n\nEach key may ask 60 times a minute.\n]]"
        "[[say The guide has a page on limits.]]",
    ),
    (
        LOAD,
        "[[say I would like to run the benchmark first without, then with the limiter.]]"
        "[[run scripts/bench --requests 1000]]",
    ),
    (ASIDE, "[[say In memory, in `Limiter.hits`: one list of times for each key. A restart forgets them.]]"),
    (
        PAGES,
        "[[run grep -n OFFSET src/orders.py]]"
        "[[say `OFFSET` reads and drops every row before the page. I would ask for what comes **after** the last "
        "id instead.]]"
        f"[[write src/orders.py {ORDERS_KEYSET}]]",
    ),
    (CHECKOUT, "[[say I begin with the address.]][[fail The model is overloaded. Try again in a few minutes.]]"),
    (
        REACT,
        '[[write package.json {"name": "storefront", "private": true, "dependencies": {"react": "^19.0.0"}}\n]]'
        "[[run scripts/test]][[say React 19 is in. Two components used `defaultProps`; both have default values now.]]",
    ),
    (READ, "[[run cat src/search.js]][[say Every search reads every page from its first letter to its last.]]"),
    (
        GERMAN,
        "[[say There are four guides. I would give each of them to a session of its own.]]"
        '[[mcp agor_sessions_spawn {"prompt": "Translate docs/guides/start.md into German. Keep code and links as they '
        'are.", "title": "Translate the first guide", "permissionMode": "acceptEdits"}]]',
    ),
]


def _racer(model: str, code: str, words: str) -> tuple[str, str, str]:
    return (FASTER, model, f"[[write src/search.js {code}]][[run scripts/test]][[say {words}]]")


def script() -> list[tuple[str, str, str]]:
    """Returns the script for the scripted agent. All racers get the same prompt, so the model decides who does what;
    the small model is the agent's default."""
    return [
        _racer("demo-large", SEARCH_INDEX, "Words are indexed once, when the pages load. A search is 40 times faster."),
        _racer("", SEARCH_CACHE, "What was looked for before is remembered. The first search is as slow as it was."),
        *((words, "", directives) for words, directives in SCORE),
    ]
