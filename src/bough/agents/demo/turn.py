"""Runs a turn of the demo agent: follows the directives in the prompt one after the other."""

import asyncio
import os
import sys
from collections import deque

from bough.agents.acp_server.params import ReceivedMcpServer, attachments, last_text
from bough.agents.acp_server.records import EndRecord, SteerRecord
from bough.agents.acp_server.session_store import now
from bough.agents.acp_server.turn import Turn
from bough.agents.acp_server.updates import ToolCall, new_id
from bough.agents.demo import directives as d
from bough.agents.demo.ask_user import ask_user
from bough.agents.demo.capabilities import Features
from bough.agents.demo.config import EFFORTS, prompt_usage, turn_cost, usage_update
from bough.agents.demo.sentences import in_directives
from bough.agents.demo.state import DemoState
from bough.agents.demo.tool_calls.tool_runner import ToolRunner
from bough.agents.demo.updates import DemoUpdates
from bough.agents.json_rpc import INTERNAL_ERROR, Json, RpcError

CRASH_CODE = 70
TITLE_LENGTH = 60
# Slash commands, which clients offer to the user. Each is the directive of the same name.
COMMANDS = {
    "help": "List the directives that this agent follows",
    "status": "Show mode, model, effort, working directory and MCP servers",
    "recall": "List every user text of the conversation",
}


class DemoTurn(Turn[DemoState]):
    """The work that one prompt causes."""

    def __init__(
        self, updates: DemoUpdates, features: Features, servers: list[ReceivedMcpServer], content: list[Json]
    ) -> None:
        super().__init__(updates.file, content)
        self._updates = updates
        self._features = features
        self._servers = servers
        self._tools = ToolRunner(updates, servers)
        self._text = last_text(content)
        # Prompts that came during the turn and are not followed yet, and whether the turn takes any.
        self._steered: deque[list[Json]] = deque()
        self._steer_came = asyncio.Event()
        self._takes_steering = True

    def steer(self, content: list[Json]) -> bool:
        """Takes a prompt in the middle of the turn, to be followed soon. Returns False if the turn is about to end."""
        if not self._takes_steering or self._cancelled is not None:
            return False
        self._file.append(SteerRecord(at=now(), message_id=new_id("user"), content=content))
        self._steered.append(content)
        self._steer_came.set()
        return True

    def _begin(self) -> None:
        state = self._file.state()
        words = sum(len(block["text"].split()) for block in self._content if block["type"] == "text")
        self._updates.spent.input_tokens = words
        self._updates.spent.thought_tokens = words * EFFORTS[state.effort]
        if state.title is None and "titles" in self._features:
            title = " ".join(self._text.split()) or "(no text)"
            if len(title) > TITLE_LENGTH:
                title = title[: TITLE_LENGTH - 1] + "…"
            self._updates.update({"sessionUpdate": "session_info_update", "title": title, "updatedAt": now()})

    def _open_tool(self) -> ToolCall | None:
        return self._tools.current

    def _finish(self, end: EndRecord) -> None:
        self._updates.end_message()
        end.usage = self._updates.spent
        end.cost = turn_cost(self._file.state(), end.usage)
        super()._finish(end)
        if "usage" in self._features:
            self._updates.send(usage_update(self._file.state()))

    def _usage(self) -> Json:
        return {"usage": prompt_usage(self._file.state())} if "usage" in self._features else {}

    async def _act(self) -> None:
        try:
            await self._follow_prompt()
            await self._follow_steered()
        finally:
            # Nothing is awaited between the last look and this.
            self._takes_steering = False

    async def _follow_prompt(self) -> None:
        directives = d.parse(in_directives(self._text, self._file.state().texts))
        command = self._text.strip().removeprefix("/")
        if "commands" in self._features and self._text.strip().startswith("/") and command in COMMANDS:
            directives = [d.PlainDirective(command)]
        if not directives:
            files = attachments(self._content)
            with_files = f" with {', '.join(files)}" if files else ""
            self._updates.say(f'You said "{self._text}"{with_files}. This is user turn {self._number}.')
        for directive in directives:
            await self._follow(directive)
            await self._follow_steered()

    async def _follow_steered(self) -> None:
        """Follows the prompts that came during the turn."""
        self._steer_came.clear()
        while self._steered:
            text = last_text(self._steered.popleft())
            directives = d.parse(in_directives(text, self._file.state().texts))
            self._updates.end_message()
            if not directives:
                self._updates.say(f'Meanwhile you said "{text}".')
            for directive in directives:
                await self._follow(directive)

    async def _follow(self, directive: d.Directive) -> None:
        match directive:
            case d.Say(text):
                self._updates.say(text)
            case d.Think(text):
                self._updates.think(text)
            case d.Slow(chunks, seconds):
                await self._slow(chunks, seconds)
            case d.Flood(chunks):
                await self._updates.flood(chunks)
            case d.ShowPlan(steps):
                entries = [{"content": step, "priority": "medium", "status": "pending"} for step in steps]
                self._updates.update({"sessionUpdate": "plan", "entries": entries})
            case d.WriteFile() | d.RunShell() | d.CallMcpTool() | d.AskUser():
                await self._use(directive)
            case d.Fail(text):
                raise RpcError(INTERNAL_ERROR, text)
            case d.Malformed(source, reason):
                self._updates.say(f"I cannot follow {source}: {reason}.")
            case d.PlainDirective(name):
                await self._simple(name)

    async def _use(self, directive: d.WriteFile | d.RunShell | d.CallMcpTool | d.AskUser) -> None:
        match directive:
            case d.WriteFile(path, text):
                await self._tools.write(path, text)
            case d.RunShell(command):
                await self._tools.run(command)
            case d.CallMcpTool(tool, arguments):
                await self._tools.call_mcp(tool, arguments)
            case d.AskUser(question):
                await ask_user(self._updates, question)

    async def _simple(self, name: str) -> None:
        match name:
            case "recall":
                texts = enumerate(self._file.state().texts, start=1)
                self._updates.say("\n".join(f"{number}. {_one_line(text)}" for number, text in texts))
            case "status":
                self._updates.say(self._status())
            case "help":
                self._updates.say(d.HELP)
            case "crash":
                self._updates.end_message()
                self._updates.connection.output.flush()
                print("demo agent: crashing, as the prompt says", file=sys.stderr, flush=True)
                os._exit(CRASH_CODE)
            case _:
                while True:  # hang: only what comes meanwhile is followed
                    await self._steer_came.wait()
                    await self._follow_steered()

    async def _slow(self, chunks: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        for index in range(1, chunks + 1):
            self._updates.say(f"tick {index}")
            # Measured from the start each time, so that small delays do not add up.
            await asyncio.sleep(max(0.0, start + seconds * index / chunks - loop.time()))
            await self._follow_steered()

    def _status(self) -> str:
        state = self._file.state()
        servers = ", ".join(server.name for server in self._servers) or "none"
        return (
            f"mode: {state.mode}\nmodel: {state.model}\neffort: {state.effort}\n"
            f"cwd: {state.folder}\nturn: {self._number}\nMCP servers: {servers}"
        )


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
