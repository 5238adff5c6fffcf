"""P2: A test can see what the scripted model received, and whether the agent stayed for the answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx

from tests.support.scripted_model.running import ScriptedModel, scripted_model, scripted_model_process


def ask(text: str) -> dict[str, object]:
    return {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}


async def test_the_log_shows_what_was_done(http: httpx.AsyncClient, model: ScriptedModel) -> None:
    answer = await http.post("/v1/messages?beta=true", json=ask("[[say hi]]"), headers={"user-agent": "tester"})
    assert answer.status_code == 200
    [entry] = await model.log()
    assert (entry.api, entry.model, entry.agent, entry.path) == ("anthropic", "m", "tester", "/v1/messages?beta=true")
    assert (entry.does, entry.done, entry.aborted, entry.last_user) == (["say"], True, False, "[[say hi]]")
    last = await model.last()
    assert last.body == ask("[[say hi]]") and last.headers["user-agent"] == "tester"
    await model.reset()
    assert await model.log() == [] and (await model.last()).body is None


async def test_hanging_up_is_noticed(http: httpx.AsyncClient, model: ScriptedModel) -> None:
    for script in ("[[hang 60]]", "[[slow 1000 0.01]]"):
        async with http.stream("POST", "/v1/messages", json=ask(script)) as answer:
            assert "message_start" in await anext(answer.aiter_text())
            assert not (await model.wait_for(lambda entry, script=script: entry.last_user == script)).aborted
        ended = await model.wait_for(lambda entry, script=script: entry.last_user == script and entry.aborted)
        assert not ended.done


async def test_streams_do_not_delay_the_shutdown() -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        async with scripted_model() as model:
            hanging = asyncio.create_task(http.post(f"{model.url}/v1/messages", json=ask("[[hang 60]]")))
            await model.wait_for(lambda entry: entry.does == ["wait"])
        assert "message_stop" not in (await hanging).text


async def test_parallel_conversations_do_not_mix(http: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(http.post("/v1/messages", json=ask(f"[[say no{n}]]")) for n in range(20)))
    assert [f"no{n} " in answer.text for n, answer in enumerate(answers)] == [True] * 20


async def test_log_and_dump_are_files(tmp_path: Path) -> None:
    files = scripted_model(log=tmp_path / "log", dump=tmp_path / "dump")
    async with files as model, httpx.AsyncClient(base_url=model.url, trust_env=False) as http:
        await http.post("/v1/messages", json=ask("[[say hi]]"))
        await http.get("/nowhere")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["path"] for line in lines] == ["/v1/messages", "/nowhere"]
    [dumped] = (tmp_path / "dump").iterdir()
    assert json.loads(dumped.read_text())["body"] == ask("[[say hi]]")


async def test_as_a_process() -> None:
    with scripted_model_process() as model:
        async with httpx.AsyncClient(base_url=model.url, trust_env=False) as http:
            assert "hi " in (await http.post("/v1/messages", json=ask("[[say hi]]"))).text
        assert [entry.done for entry in await model.log()] == [True]
