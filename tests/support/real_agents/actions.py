"""Turns one abstract action into a prompt whose script calls the right tool of each real agent."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class Actions(ABC):
    """Builds prompts for an agent that works in `cwd`; file names are relative to it, or absolute."""

    DEFERRED = "mcp__{server}__{tool}"
    """How the agent calls an MCP tool that it does not offer to its model up front."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd

    @abstractmethod
    def write(self, name: str = "new.txt", content: str = "alpha\nbeta\n") -> str:
        """Creates a file."""

    @abstractmethod
    def edit(self, name: str, old: str, new: str) -> str:
        """Changes one whole line of a file."""

    @abstractmethod
    def read(self, name: str) -> str:
        """Reads a file."""

    @abstractmethod
    def shell(self, command: str, *, escalate: bool = False) -> str:
        """Runs a command; `escalate` asks to run it outside the sandbox, where the agent has one (Codex)."""

    @abstractmethod
    def plan(self) -> str:
        """Plans steps, of which the first is `First`."""

    @abstractmethod
    def question(self) -> str:
        """Asks for a color: Red or Blue."""

    def echo(self, text: str = "harmless") -> str:
        """Runs a command that changes nothing."""
        return self.shell(f"echo {text}")

    def shell_write(self, name: str = "made-by-shell.txt", *, escalate: bool = False) -> str:
        """Creates a file with the content `from-shell` by a command that prints `shell-out`."""
        return self.shell(f"echo from-shell > '{self._path(name)}' && echo shell-out", escalate=escalate)

    def shell_outside(self, path: Path, *, escalate: bool = False) -> str:
        """Does the same with a file anywhere."""
        return self.shell_write(str(path), escalate=escalate)

    def slow_shell(self, seconds: int = 31, mark: str | None = None, *, escalate: bool = False) -> str:
        """Runs a command that takes long (Claude refuses a bare sleep); the file `mark` gets its process id."""
        noted = f"import os; open('{self._path(mark)}', 'w').write(str(os.getpid())); " if mark else ""
        return self.shell(f'python3 -c "{noted}import time; time.sleep({seconds})"', escalate=escalate)

    def mcp(self, server: str, tool: str = "shout", **arguments: Any) -> str:
        """Calls a tool of an MCP server, by default `shout` of the probe, whatever the agent calls it."""
        offered = "|".join(f"~{server}{glue}{tool}" for glue in ("__", "_", "-"))
        deferred = self.DEFERRED.format(server=server, tool=tool)
        parameters = arguments or ({"text": "quiet words"} if tool == "shout" else {})
        return _call(f"{offered}|!{deferred}", parameters)

    def own(self, tool: str, **arguments: Any) -> str:
        """Calls one of Bough's own tools."""
        return self.mcp("bough", tool, **arguments)

    def at_once(self, *calls: str) -> str:
        """Makes several calls in one response of the model."""
        assert all(call.startswith("[[tool ") for call in calls)
        return " ".join([*calls[:1], *(call.replace("[[tool ", "[[and ", 1) for call in calls[1:])])

    def say(self, text: str) -> str:
        return f"[[say {text}]]"

    def think(self, text: str) -> str:
        return f"[[think {text}]]"

    def recall(self, longest: int | None = None) -> str:
        """Lists all prompts that the model received, each up to the given length."""
        return f"[[recall {longest}]]" if longest else "[[recall]]"

    def tools(self) -> str:
        """Lists the tools that the model is offered."""
        return "[[tools]]"

    def slow(self, count: int = 100, seconds: float = 0.05) -> str:
        """Streams `tick 1`, `tick 2`, … with this pause between them."""
        return f"[[slow {count} {seconds}]]"

    def hang(self, seconds: float = 60) -> str:
        """Streams nothing for a while."""
        return f"[[hang {seconds}]]"

    def http(self, status: int = 400, kind: str = "") -> str:
        """Makes the model's service fail, with an error of that kind."""
        return f"[[http {status} {kind}]]" if kind else f"[[http {status}]]"

    def big(self, size: int) -> str:
        """Says that many characters, in large pieces."""
        return f"[[big {size}]]"

    def end(self, reason: str) -> str:
        """Makes the model end its response early: `max_tokens` or `refusal`."""
        return f"[[end {reason}]]"

    def _path(self, name: str) -> str:
        return str(self.cwd / name)


class _Claude(Actions):
    def write(self, name: str = "new.txt", content: str = "alpha\nbeta\n") -> str:
        return _call("Write", {"file_path": self._path(name), "content": content})

    def edit(self, name: str, old: str, new: str) -> str:
        change = {"file_path": self._path(name), "old_string": old, "new_string": new}
        return f"{self.read(name)} {_call('Edit', change)}"

    def read(self, name: str) -> str:
        return _call("Read", {"file_path": self._path(name)})

    def shell(self, command: str, *, escalate: bool = False) -> str:
        return _call("Bash", {"command": command, "description": "Run a command"})

    def plan(self) -> str:
        # This tool creates one step per call.
        return _call("TaskCreate", {"subject": "First", "description": "Do the first thing"})

    def question(self) -> str:
        return _call("AskUserQuestion", {"questions": [_question(multiSelect=False)]})


class _Codex(Actions):
    DEFERRED = "mcp__{server}/{tool}"

    def write(self, name: str = "new.txt", content: str = "alpha\nbeta\n") -> str:
        added = "".join(f"+{line}\n" for line in content.splitlines())
        return _patch(f"*** Add File: {name}\n{added}")

    def edit(self, name: str, old: str, new: str) -> str:
        return _patch(f"*** Update File: {name}\n@@\n-{old}\n+{new}\n")

    def read(self, name: str) -> str:
        return self.shell(f"cat '{name}'")

    def shell(self, command: str, *, escalate: bool = False) -> str:
        # The tools and names that exist depend on the model.
        parameters = {"cmd": command, "command": command}
        if escalate:
            parameters |= {"sandbox_permissions": "require_escalated", "justification": "May I run this?"}
        return _call("exec_command|shell_command|shell", parameters)

    def plan(self) -> str:
        steps = [{"step": "First", "status": "in_progress"}, {"step": "Second", "status": "pending"}]
        return _call("update_plan|!update_plan", {"explanation": "two steps", "plan": steps})

    def question(self) -> str:
        return _call("request_user_input", {"questions": [_question(id="colour")]})


class _Gemini(Actions):
    def write(self, name: str = "new.txt", content: str = "alpha\nbeta\n") -> str:
        return _call("write_file", {"file_path": self._path(name), "content": content})

    def edit(self, name: str, old: str, new: str) -> str:
        change = {"file_path": self._path(name), "old_string": old, "new_string": new}
        return _call("replace|edit", change | {"instruction": f"Replace {old} by {new}"})

    def read(self, name: str) -> str:
        return _call("read_file", {"file_path": self._path(name)})

    def shell(self, command: str, *, escalate: bool = False) -> str:
        return _call("run_shell_command", {"command": command, "description": "Run it", "is_background": False})

    def plan(self) -> str:
        todos = [{"description": "First", "status": "in_progress"}, {"description": "Second", "status": "pending"}]
        return _call("write_todos", {"todos": todos})

    def question(self) -> str:
        return _call("ask_user|ask_user_question", {"questions": [_question(type="choice", multiSelect=False)]})


class _Qwen(_Gemini):
    def edit(self, name: str, old: str, new: str) -> str:
        return f"{self.read(name)} {super().edit(name, old, new)}"

    def plan(self) -> str:
        todos = [
            {"content": "First", "id": "1", "status": "in_progress"},
            {"content": "Second", "id": "2", "status": "pending"},
        ]
        return _call("todo_write|!todo_write", {"todos": todos})


class _OpenCode(Actions):
    DEFERRED = "{server}_{tool}"

    def write(self, name: str = "new.txt", content: str = "alpha\nbeta\n") -> str:
        return _call("write", {"filePath": self._path(name), "content": content})

    def edit(self, name: str, old: str, new: str) -> str:
        change = {"filePath": self._path(name), "oldString": old, "newString": new}
        return f"{self.read(name)} {_call('edit', change)}"

    def read(self, name: str) -> str:
        return _call("read", {"filePath": self._path(name)})

    def shell(self, command: str, *, escalate: bool = False) -> str:
        return _call("bash", {"command": command, "description": "Run a command"})

    def plan(self) -> str:
        todos = [
            {"id": "1", "content": "First", "status": "in_progress", "priority": "high"},
            {"id": "2", "content": "Second", "status": "pending", "priority": "low"},
        ]
        return _call("todowrite", {"todos": todos})

    def question(self) -> str:
        return _call("question", {"questions": [_question(multiple=False)]})


class _Copilot(Actions):
    DEFERRED = "{server}-{tool}"

    def write(self, name: str = "new.txt", content: str = "alpha\nbeta\n") -> str:
        return _call("create", {"path": self._path(name), "file_text": content})

    def edit(self, name: str, old: str, new: str) -> str:
        return _call("edit", {"path": self._path(name), "old_str": old, "new_str": new})

    def read(self, name: str) -> str:
        return _call("view", {"path": self._path(name)})

    def shell(self, command: str, *, escalate: bool = False) -> str:
        # `initial_wait` is how long it waits for a command before it continues without it.
        arguments = {"command": command, "description": "Run a command", "mode": "sync", "initial_wait": 60}
        return _call("bash", arguments)

    def plan(self) -> str:
        return _call("update_todo", {"todos": "- [ ] First\n- [ ] Second"})

    def question(self) -> str:
        return _call("ask_user", {"question": "Which colour?", "choices": ["Red", "Blue"]})


def actions_of(agent: str, cwd: Path) -> Actions:
    """Returns the actions of an agent, by its name in the catalog."""
    return _ACTIONS[agent](cwd)


def _call(tool: str, arguments: dict[str, Any]) -> str:
    return f"[[tool {tool} {json.dumps(arguments)}]]"


def _patch(change: str) -> str:
    assert "]]" not in change, "a free-form call ends at the first ]]"
    return f"[[raw apply_patch *** Begin Patch\n{change}*** End Patch]]"


def _question(**more: Any) -> dict[str, Any]:
    options = [{"label": "Red", "description": "red"}, {"label": "Blue", "description": "blue"}]
    return {"question": "Which colour?", "header": "Colour", "options": options} | more


_ACTIONS: dict[str, type[Actions]] = {
    "claude-code": _Claude,
    "codex": _Codex,
    "gemini": _Gemini,
    "opencode": _OpenCode,
    "copilot": _Copilot,
    "qwen": _Qwen,
}
