"""Tests as tables what mode, rules and remembered choices decide (P1, P3, 5d)."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.policy.decide import OF_FILES, decide
from bough.core.policy.protected_paths import written
from bough.core.policy.tool_use.read import KINDS
from bough.model.session import MODES, RANK, PermissionMode
from tests.core.policy.policies import CWD, PLACES, choice, rule, use

INSIDE = f"{CWD}/src/a.py"
ASKING: tuple[PermissionMode, ...] = ("default", "ask")
EDITING: tuple[PermissionMode, ...] = ("acceptEdits", "auto", "on-failure")
ALLOWING: tuple[PermissionMode, ...] = ("bypassPermissions", "allow-all")


@pytest.mark.parametrize(("mode", "kind"), [*itertools.product(MODES, KINDS)])
def test_modes_alone(mode: PermissionMode, kind: Any) -> None:
    """P1: Without rules and choices a mode decides by kind; no mode grants less than a lower one."""
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
    """P3: Modes that accept edits ask before edits outside the folder, of unnamed files, and of files that could grant
    rights later."""
    verdict = decide(mode, use("edit", *paths), [], [])
    assert verdict.effect == "ask"
    assert decide("allow-all", use("edit", *paths), [], []).effect == "allow"


@pytest.mark.parametrize("mode", EDITING)
@pytest.mark.parametrize(
    "path", [".github/CODEOWNERS", ".github/mcp.json.md", ".vscode/notes.json", "hooks/a.py", "src/mcp.json"]
)
def test_edits_beside_those_are_accepted(mode: PermissionMode, path: str) -> None:
    """P3: Files that only look like files that grant rights are edited like any other."""
    assert decide(mode, use("edit", f"{CWD}/{path}"), [], []).effect == "allow"


@pytest.mark.parametrize("mode", ALLOWING)
def test_leaving_a_sandbox_needs_approval(mode: PermissionMode) -> None:
    """P1: An agent that works in a sandbox in every mode leaves it only if a person or a rule allows it."""
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


@pytest.mark.parametrize("mode", ALLOWING)
@pytest.mark.parametrize("sandboxed", [True, False])
def test_the_highest_modes_allow_no_less_than_auto(mode: PermissionMode, sandboxed: bool) -> None:
    """P1: Whatever `auto` allows, they allow too, also for an agent that stays in its sandbox."""
    tool_uses = [
        msgspec.structs.replace(tool_use, sandboxed=sandboxed)
        for tool_use in (
            use("edit", INSIDE),
            use("edit", INSIDE, f"{CWD}/other"),
            use("edit", f"{CWD}/.git/config"),
            use("edit", "/etc/passwd"),
            use("edit"),
            use("execute", command="git commit -m x"),
            use("mcp", server="far", name="shout"),
        )
    ]
    allowed = [tool_use for tool_use in tool_uses if decide("auto", tool_use, [], []).effect == "allow"]
    assert allowed != []
    assert [decide(mode, tool_use, [], []).effect for tool_use in allowed] == ["allow"] * len(allowed)


@pytest.mark.parametrize(
    "path", ["a", ".github/labels.yml", ".gitignore", "src/git/x", "claude/x", "a copilot", "x.mcp.json"]
)
def test_edits_that_are_accepted(path: str) -> None:
    """P3: Names that only look like protected ones are edited like any other."""
    assert written(f"{CWD}/{path}", PLACES) is None
    assert decide("acceptEdits", use("edit", f"{CWD}/{path}"), [], []).effect == "allow"


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_that_denies_is_final(mode: PermissionMode) -> None:
    """P3: Denies in every mode, before choices and later rules, including Bough's own tools and changes of mode."""
    deny = rule("deny", note="not here")
    for tool_use in (use("execute", command="x"), use("mcp", server="bough"), use("switch_mode"), use("edit", INSIDE)):
        verdict = decide(mode, tool_use, [deny, rule("allow")], [choice("k")])
        assert (verdict.effect, verdict.by, verdict.id) == ("deny", "rule", deny.id)
        assert "'not here'" in verdict.reason and deny.id[-8:] in verdict.reason


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_raises_plan(kind: Any) -> None:
    """P3: In plan neither rules nor choices allow anything; only leaving it is asked."""
    for rules in ([rule("allow")], [rule("ask")], []):
        verdict = decide("plan", use(kind, INSIDE, command="x"), rules, [choice("k")])
        assert verdict.effect == ("ask" if kind == "switch_mode" else "deny")


@pytest.mark.parametrize("mode", MODES)
def test_boughs_own_tools_are_not_asked_about(mode: PermissionMode) -> None:
    """5d: Nobody is asked twice about Bough's own tools; a server whose name only starts like it is another one."""
    assert decide(mode, use("mcp", server="bough"), [rule("ask")], []).effect == "allow"
    for server in ("bough_", "Bough", "bough/x", None):
        verdict = decide(mode, use("mcp", server=server, name="bough"), [], [])
        assert verdict.effect == {"plan": "deny", **dict.fromkeys(ALLOWING, "allow")}.get(mode, "ask")


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "plan"])
def test_rules_then_choices_then_modes(mode: PermissionMode) -> None:
    """P3: The first matching rule counts; one that asks, or none, gives way to a choice for exactly this use."""
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
    """P3: No rule and no choice lets an agent change its own mode; only a mode that allows everything does."""
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
    """P3: Every condition of a rule must hold, whatever its effect."""
    tool_use = use(**{"kind": "execute", "name": "Bash", "command": "ls -l"} | fields)
    for effect in ("allow", "ask", "deny"):
        is_decided_by_rule = decide("default", tool_use, [rule(effect, **conditions)], []).by == "rule"
        assert is_decided_by_rule is matched, effect


def test_a_tool_of_a_server_is_not_allowed_by_its_bare_name() -> None:
    """P3: Any MCP server may have a tool of any name, so a rule that allows one must name its server; one that denies
    need not."""
    tool_use = use("mcp", name="Read", server="other")
    assert decide("default", tool_use, [rule("allow", tool="Read")], []).effect == "ask"
    assert decide("default", tool_use, [rule("allow", tool="other/Read")], []).effect == "allow"
    assert decide("allow-all", tool_use, [rule("deny", tool="Read")], []).effect == "deny"


def test_all_paths_to_allow_any_to_deny() -> None:
    """P3: A rule that allows must cover every file; one that asks or denies matches any of them, resolved or as
    written."""
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
def test_unknown_details_are_asked_about(conditions: dict[str, Any], kind: Any, effect: str) -> None:
    """P3: A rule that may apply to a use counts as one that asks, even in modes that allow everything."""
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
    """P1: Modes are ordered by what they grant, with any rules."""
    order = {"deny": 0, "ask": 1, "allow": 2}
    tool_use = use(kind, INSIDE if inside else "/etc/x")
    rules = [rule(effect) for effect in effects]
    got = order[decide(mode, tool_use, rules, []).effect]
    higher: list[PermissionMode] = [other for other in MODES if RANK[other] >= RANK[mode]]
    for other in higher:
        assert order[decide(other, tool_use, rules, []).effect] >= got


@given(st.lists(st.sampled_from([".git", "a", "..", ".", "b c", ".claude", "git"]), min_size=1, max_size=6))
def test_accepted_edits_are_inside_the_folder(parts: list[str]) -> None:
    """P3: Whatever its parts, the path of an accepted edit is inside the folder and not protected."""
    path = f"{CWD}/{'/'.join(parts)}"
    allowed = decide("acceptEdits", use("edit", path), [], []).effect == "allow"
    assert not (allowed and {"..", ".git", ".claude"}.intersection(parts))


def test_rules_that_allow_apply_to_one_kind() -> None:
    """P3: A rule that allows a command allows running it; one that allows a path allows working on that file."""
    for kind in KINDS:
        tool_use = use(kind, INSIDE, command="make it")
        run = decide("default", tool_use, [rule("allow", command="make *")], []).by == "rule"
        work = decide("default", tool_use, [rule("allow", path="src/**")], []).by == "rule"
        assert (run, work) == (kind == "execute", kind in OF_FILES)


def test_an_unsure_rule_does_not_hide_a_sure_one() -> None:
    """P3: A rule that certainly denies does so even after one that may apply; one that allows does not."""
    unsure, deny, allow = rule("ask", command="git *"), rule("deny", kind="execute"), rule("allow", kind="execute")
    assert decide("allow-all", use("execute"), [unsure, deny], []).id == deny.id
    assert decide("allow-all", use("execute"), [unsure, unsure, deny], []).effect == "deny"
    assert decide("allow-all", use("execute"), [unsure, allow, deny], []).id == unsure.id
    assert decide("allow-all", use("execute"), [allow, unsure, deny], []).id == allow.id
