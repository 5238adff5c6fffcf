"""P1, P3, 5d: what follows from mode, rules and remembered choices, case by case."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.policy.decide import OF_FILES, decide
from bough.core.policy.tool_use import KINDS, is_protected
from bough.model.session import MODES, RANK, PermissionMode
from tests.core.policy.policies import CWD, PROTECTED, choice, rule, use

INSIDE = f"{CWD}/src/a.py"
ASKING: tuple[PermissionMode, ...] = ("default", "ask")
EDITING: tuple[PermissionMode, ...] = ("acceptEdits", "auto", "on-failure")
ALLOWING: tuple[PermissionMode, ...] = ("bypassPermissions", "allow-all")


@pytest.mark.parametrize(("mode", "kind"), [*itertools.product(MODES, KINDS)])
def test_modes_alone(mode: PermissionMode, kind: Any) -> None:
    """P1: without rules and choices a mode decides by kind; none grants what a lower one does not ask about."""
    expected = "ask"
    if mode == "plan":
        expected = "ask" if kind == "switch_mode" else "deny"
    elif mode in ALLOWING or (mode in EDITING and kind == "edit"):
        expected = "allow"
    verdict = decide(mode, use(kind, INSIDE), [], [])
    assert (verdict.effect, verdict.by, verdict.id) == (expected, "mode", None)
    assert kind == "switch_mode" or mode in verdict.reason


@pytest.mark.parametrize("mode", EDITING)
@pytest.mark.parametrize(
    "paths",
    [
        (),
        ("/etc/passwd",),
        (INSIDE, "/etc/passwd"),
        (CWD,),
        (f"{CWD}-other/a",),
        (f"{CWD}/../x",),
        (f"{CWD}/.git/hooks/pre-commit",),
        (f"{CWD}/.git",),
        (f"{CWD}/sub/.git/config",),
        (f"{CWD}/.GIT/config",),
        (f"{CWD}/.claude/settings.local.json",),
        (f"{CWD}/.codex/config.toml",),
        (f"{CWD}/.gemini/settings.json",),
        (f"{CWD}/.opencode/agent/x.md",),
        (f"{CWD}/.qwen/settings.json",),
        (f"{CWD}/opencode.json",),
        (f"{CWD}/.mcp.json",),
        (f"{CWD}/.github/copilot-instructions.md",),
        (f"{CWD}/.github/hooks/pre-tool.json",),
        (f"{CWD}/.github/hooks",),
        (f"{CWD}/.GitHub/Hooks/pre-tool.json",),
        (f"{CWD}/sub/.github/agents/helper.agent.md",),
        (f"{CWD}/.github/Agents/helper.agent.md",),
        (f"{CWD}/.github/mcp.json",),
        (f"{CWD}/.github/MCP.json",),
        (f"{CWD}/.vscode/mcp.json",),
        (f"{CWD}/sub/.VSCode/mcp.json",),
        (INSIDE, f"{CWD}/.mcp.json"),
    ],
)
def test_edits_that_are_asked_about(mode: PermissionMode, paths: tuple[str, ...]) -> None:
    """P3: modes that accept edits ask before those outside, unnamed ones, and those that would grant rights later."""
    verdict = decide(mode, use("edit", *paths), [], [])
    assert verdict.effect == "ask"
    assert decide("allow-all", use("edit", *paths), [], []).effect == "allow"


@pytest.mark.parametrize("mode", EDITING)
@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", ".github/mcp.json.md", ".vscode/settings.json", "hooks/a.py", "src/mcp.json"]
)
def test_edits_beside_those_are_accepted(mode: PermissionMode, path: str) -> None:
    """P3: what only looks like a place that grants rights is edited like any other file."""
    assert decide(mode, use("edit", f"{CWD}/{path}"), [], []).effect == "allow"


@pytest.mark.parametrize("mode", ALLOWING)
def test_a_sandbox_is_left_only_if_a_person_says_so(mode: PermissionMode) -> None:
    """P1: an agent that keeps to its sandbox in every mode, and is kept asking by a rule, leaves it only if allowed."""
    for tool_use in (
        use("execute", command="ls"),
        use("edit", "/etc/passwd"),
        use("edit", f"{CWD}/.git/config"),
        use(),
    ):
        assert decide(mode, msgspec.structs.replace(tool_use, sandboxed=True), [], []).effect == "ask"
        assert decide(mode, tool_use, [], []).effect == "allow"
    for tool_use in (use("edit", INSIDE, sandboxed=True), use("mcp", sandboxed=True, server="far", name="shout")):
        assert decide(mode, tool_use, [], []).effect == "allow"
    allowed = rule("allow", command="ls*")
    assert decide(mode, use("execute", sandboxed=True, command="ls"), [allowed], []).effect == "allow"


@pytest.mark.parametrize(
    "path", ["a", ".github/workflows/x.yml", ".gitignore", "src/git/x", "claude/x", "a copilot", "x.mcp.json"]
)
def test_edits_that_are_accepted(path: str) -> None:
    """P3: names that only look like protected ones are edited like any other."""
    assert not is_protected(f"{CWD}/{path}", CWD, PROTECTED)
    assert decide("acceptEdits", use("edit", f"{CWD}/{path}"), [], []).effect == "allow"


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_that_denies_is_final(mode: PermissionMode) -> None:
    """P3: in every mode, over choices and later rules, for Bough's own tools and changes of mode too."""
    deny = rule("deny", note="not here")
    for tool_use in (use("execute", command="x"), use("mcp", server="bough"), use("switch_mode"), use("edit", INSIDE)):
        verdict = decide(mode, tool_use, [deny, rule("allow")], [choice("k")])
        assert (verdict.effect, verdict.by, verdict.id) == ("deny", "rule", deny.id)
        assert "'not here'" in verdict.reason and deny.id[-8:] in verdict.reason


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_raises_plan(kind: Any) -> None:
    """P3: in plan neither rules nor choices allow anything; only leaving it is asked."""
    for rules in ([rule("allow")], [rule("ask")], []):
        verdict = decide("plan", use(kind, INSIDE, command="x"), rules, [choice("k")])
        assert verdict.effect == ("ask" if kind == "switch_mode" else "deny")


@pytest.mark.parametrize("mode", MODES)
def test_bough_itself_is_never_asked_about(mode: PermissionMode) -> None:
    """5d: nobody is asked twice about Bough's own tools; a name that only begins like it is another's."""
    assert decide(mode, use("mcp", server="bough"), [rule("ask")], []).effect == "allow"
    for server in ("bough_", "Bough", "bough/x", None):
        verdict = decide(mode, use("mcp", server=server, name="bough"), [], [])
        assert verdict.effect == {"plan": "deny", **dict.fromkeys(ALLOWING, "allow")}.get(mode, "ask")


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "plan"])
def test_rules_then_choices_then_modes(mode: PermissionMode) -> None:
    """P3: the first rule that matches counts; one that asks, or none, gives way to a choice for exactly this."""
    tool_use = use("execute", command="git push")
    other = rule("deny", command="git pull*")
    allow, ask = rule("allow", command="git push"), rule("ask", kind="execute")
    remembered = choice("k")
    assert decide(mode, tool_use, [other, allow, ask], []).id == allow.id
    assert decide(mode, tool_use, [other, ask, allow], []).id == ask.id
    assert decide(mode, tool_use, [ask], [remembered]).by == "choice"
    assert decide(mode, tool_use, [], [remembered]).id == remembered.id
    foreign = [choice("k", agent="codex"), choice("K"), choice("")]
    assert decide(mode, tool_use, [ask], foreign).effect == "ask"
    assert decide(mode, tool_use, [], foreign).by == "mode"
    assert decide(mode, use("execute", key=""), [ask], [choice("")]).effect == "ask"


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_mode_is_asked(mode: PermissionMode) -> None:
    """P3: no rule and no choice lets an agent change its own mode; only a mode that allows everything does."""
    verdict = decide(mode, use("switch_mode"), [rule("allow", kind="switch_mode")], [choice("k")])
    assert verdict.effect == ("allow" if mode in ALLOWING else "ask")
    assert decide(mode, use("switch_mode"), [rule("ask")], [choice("k")]).effect == "ask"


@pytest.mark.parametrize(
    ("conditions", "fields", "matched"),
    [
        ({"agent": "demo"}, {}, True),
        ({"agent": "codex"}, {}, False),
        ({"kind": "execute"}, {}, True),
        ({"kind": "edit"}, {}, False),
        ({"tool": "Ba*"}, {}, True),
        ({"tool": "ba*"}, {}, False),
        ({"tool": "*"}, {"name": "", "kind": "other"}, True),
        ({"tool": "other/*"}, {"kind": "mcp", "server": "other"}, True),
        ({"tool": "other/Bash"}, {"kind": "mcp", "server": "other2"}, False),
        ({"kind": "execute", "tool": "Bash", "command": "ls *"}, {}, True),
        ({"kind": "execute", "tool": "Bash", "command": "rm *"}, {}, False),
    ],
)
def test_conditions(conditions: dict[str, Any], fields: dict[str, Any], matched: bool) -> None:
    """P3: every condition of a rule has to hold, whatever it does."""
    tool_use = use(**{"kind": "execute", "name": "Bash", "command": "ls -l"} | fields)
    for effect in ("allow", "ask", "deny"):
        is_decided_by_rule = decide("default", tool_use, [rule(effect, **conditions)], []).by == "rule"
        assert is_decided_by_rule is matched, effect


def test_a_tool_of_a_server_is_not_allowed_by_its_bare_name() -> None:
    """P3: any MCP server may have a tool of any name: to allow one, its server is named; to deny it, not."""
    tool_use = use("mcp", name="Read", server="other")
    assert decide("default", tool_use, [rule("allow", tool="Read")], []).effect == "ask"
    assert decide("default", tool_use, [rule("allow", tool="other/Read")], []).effect == "allow"
    assert decide("allow-all", tool_use, [rule("deny", tool="Read")], []).effect == "deny"


def test_all_paths_to_allow_any_to_deny() -> None:
    """P3: what allows covers every file; what asks or denies meets one, as it is or as it was named."""
    allow, deny = rule("allow", path="src/**"), rule("deny", path="src/**")
    both = use("edit", INSIDE, f"{CWD}/x")
    assert decide("default", use("edit", INSIDE), [allow], []).effect == "allow"
    assert decide("default", both, [allow], []).by == "mode"
    assert decide("default", use("edit"), [allow], []).by == "mode"
    assert decide("allow-all", both, [deny], []).effect == "deny"
    linked = use("edit", f"{CWD}/x", named=(INSIDE,))
    assert decide("allow-all", linked, [deny], []).effect == "deny"
    assert decide("default", linked, [allow], []).effect == "ask"


@pytest.mark.parametrize(
    ("conditions", "kind", "effect"),
    [
        ({"command": "rm *"}, "execute", "ask"),
        ({"path": "/etc/**"}, "edit", "ask"),
        ({"path": "/etc/**"}, "execute", "allow"),
        ({"command": "rm *"}, "edit", "allow"),
    ],
)
def test_what_an_agent_does_not_say_is_asked(conditions: dict[str, Any], kind: Any, effect: str) -> None:
    """P3: a rule that may be about a use counts as one that asks, also where everything is allowed."""
    for strict in ("deny", "ask"):
        assert decide("allow-all", use(kind), [rule(strict, **conditions)], []).effect == effect
    assert decide("default", use(kind), [rule("allow", **conditions)], []).by == "mode"


@given(
    mode=st.sampled_from(MODES),
    kind=st.sampled_from(KINDS),
    inside=st.booleans(),
    effects=st.lists(st.sampled_from(["allow", "ask"]), max_size=3),
)
def test_a_higher_mode_never_grants_less(mode: PermissionMode, kind: Any, inside: bool, effects: list[Any]) -> None:
    """P1: modes are ordered by what they grant, with the same rules in all."""
    order = {"deny": 0, "ask": 1, "allow": 2}
    tool_use = use(kind, INSIDE if inside else "/etc/x")
    rules = [rule(effect) for effect in effects]
    got = order[decide(mode, tool_use, rules, []).effect]
    higher: list[PermissionMode] = [other for other in MODES if RANK[other] >= RANK[mode]]
    for other in higher:
        assert order[decide(other, tool_use, rules, []).effect] >= got


@given(st.lists(st.sampled_from([".git", "a", "..", ".", "b c", ".claude", "git"]), min_size=1, max_size=6))
def test_what_is_accepted_lies_inside(parts: list[str]) -> None:
    """P3: whatever a path is made of, an accepted edit is below the folder and touches nothing protected."""
    path = f"{CWD}/{'/'.join(parts)}"
    allowed = decide("acceptEdits", use("edit", path), [], []).effect == "allow"
    assert not (allowed and {"..", ".git", ".claude"}.intersection(parts))


def test_what_allows_is_about_its_own_kind() -> None:
    """P3: a rule that allows a command allows running it, one that allows a path working on that file."""
    for kind in KINDS:
        tool_use = use(kind, INSIDE, command="make it")
        run = decide("default", tool_use, [rule("allow", command="make *")], []).by == "rule"
        work = decide("default", tool_use, [rule("allow", path="src/**")], []).by == "rule"
        assert (run, work) == (kind == "execute", kind in OF_FILES)


def test_an_unsure_rule_does_not_hide_a_sure_one() -> None:
    """P3: what surely denies denies, whatever may have been about the use before; what allows does not."""
    unsure, deny, allow = rule("ask", command="git *"), rule("deny", kind="execute"), rule("allow", kind="execute")
    assert decide("allow-all", use("execute"), [unsure, deny], []).id == deny.id
    assert decide("allow-all", use("execute"), [unsure, unsure, deny], []).effect == "deny"
    assert decide("allow-all", use("execute"), [unsure, allow, deny], []).id == unsure.id
    assert decide("allow-all", use("execute"), [allow, unsure, deny], []).id == allow.id
