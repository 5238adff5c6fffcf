"""Restores files during a kill run, and checks that each restore was done whole, and once (W4)."""

from __future__ import annotations

from bough.core.checkpoints.restore import UNDER_WAY
from bough.model.task import TERMINAL
from tests.kill.scripts.script import CheckedScript, Json
from tests.support.client import Client
from tests.support.eventually import eventually

RESTORES = 2
FILES = 20
# A turn ends within this although everything is killed again and again.
SETTLE = 240.0


class Restores(CheckedScript):
    """A session whose turns change many files, which are then restored."""

    name = "restores"

    async def play(self) -> None:
        self._before = {f"{number}.txt": "old\n" for number in range(FILES)}
        for name, text in self._before.items():
            (self.path / name).write_text(text, "utf-8")
        self._session_id = await self.session(await self.repo())
        # The requests that were acknowledged, with their answers.
        self._answers: list[tuple[str, str, Json]] = []
        for number in range(RESTORES):
            text = f"[[run for file in *.txt; do echo new {number} > $file; done]]"
            task_id = await self.prompt(self._session_id, text)
            await eventually(lambda task_id=task_id: self._has_ended(task_id), "the turn has ended", within=SETTLE)
            path, key = f"/api/tasks/{task_id}/restore", self.key()
            answer = await self.call("POST", path, {}, key, may_refuse=True)
            # While the disk failed, the turn had no checkpoint; this is said.
            if "error" not in answer:
                self._answers.append((path, key, answer))

    async def _has_ended(self, task_id: str) -> bool:
        return (await self.task(task_id))["status"] in TERMINAL

    async def check(self, client: Client) -> None:
        session = await client.get(f"/api/sessions/{self._session_id}")
        notices = [row["content"] for row in session["messages"] if row["content"]["type"] == "notice"]
        texts = [notice["text"] for notice in notices if notice["text"].startswith("The files were restored")]
        shown = [text.partition("Checkpoint ")[2].split()[0] for text in texts]
        undoing: list[str] = []
        for path, key, answer in self._answers:
            again = await client.post(path, {}, headers={"Idempotency-Key": key})
            assert again["note"] != UNDER_WAY, f"{path} is still under way"
            assert again["id"] == answer["id"], f"{path} was done again"
            undoing += [again["undoCheckpointId"]] if again["undoCheckpointId"] else []
        assert sorted(shown) == sorted(undoing), "a restore is not shown once"
        await self._check_files(client)

    async def _check_files(self, client: Client) -> None:
        """Restores everything to the first checkpoint that is left, and looks at the files."""
        for path, _, _ in self._answers[:1]:
            await client.post(path, {})
            assert {name: (self.path / name).read_text() for name in self._before} == self._before
