"""The server as an agent meets it: a session of the SDK's client over a process's stdin and stdout."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from kvplan.cli import main
from kvplan.recommender import GOALS
from kvplan.render.check_schema import CheckAnswer
from kvplan.render.schema import EstimateAnswer
from tests.cli.checking import BEYOND, HELD
from tests.differ.repository import needs_git, repository, write

mcp = pytest.importorskip("mcp", reason="needs the extra `mcp`")
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.03 GiB of which 1.00 GiB "
    "is free.\n"
)
Calls = list[tuple[str, Mapping[str, object]]]


def environment(folder: Path) -> dict[str, str]:
    """This process's, with kvplan where it runs now, and a cache of the Hub that is empty."""
    root = str(Path(__file__).parent.parent.parent)
    return {**os.environ, "PYTHONPATH": root, "HF_HOME": str(folder / "none")}


def session(folder: Path, calls: Calls) -> tuple[dict[str, dict[str, object]], list[tuple[bool, dict[str, object], str]]]:
    """The tools with their input schemas, and of each call whether it failed, its structured answer and its text."""
    import anyio

    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "kvplan", "mcp"], env=environment(folder), cwd=folder)

    async def talk() -> tuple[dict[str, dict[str, object]], list[tuple[bool, dict[str, object], str]]]:
        async with mcp.stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            await client.initialize()
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            results = [await client.call_tool(name, dict(arguments)) for name, arguments in calls]
        return tools, [(bool(one.is_error), one.structured_content, one.content[0].text) for one in results]

    return anyio.run(talk)


def answer(folder: Path, name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    _, ((failed, structured, text),) = session(folder, [(name, arguments)])
    assert not failed
    assert json.loads(text) == structured
    return structured


def test_every_tool_is_listed_and_answers_as_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"serve.sh": BEYOND, "server.log": OOM})
    lines: dict[str, tuple[dict[str, object], list[str]]] = {
        "estimate": (
            {"model": "qwen3-8b", "engine": "vllm", "gpu": "l4", "ctx": "8k", "batch": 4},
            ["estimate", "qwen3-8b", "--engine", "vllm", "--gpu", "l4", "--ctx", "8k", "--batch", "4", "--json"],
        ),
        "recommend": (
            {"command": "vllm serve qwen3-8b --max-model-len 32768", "gpu": "l4", "keep": ["max-model-len"]},
            [
                "recommend",
                "--gpu",
                "l4",
                "--keep",
                "max-model-len",
                "--json",
                "--",
                "vllm",
                "serve",
                "qwen3-8b",
                "--max-model-len",
                "32768",
            ],
        ),
        "check": ({"paths": [str(tmp_path)], "gpu": "l40s"}, ["check", str(tmp_path), "--gpu", "l40s", "--json"]),
        "explain": ({"path": "server.log", "gpu": "l4"}, ["explain", str(tmp_path / "server.log"), "--gpu", "l4", "--json"]),
        "models": ({"words": "qwen3"}, ["models", "qwen3", "--json"]),
    }
    calls: Calls = [(name, arguments) for name, (arguments, _) in lines.items()]
    tools, answers = session(tmp_path, calls)
    assert set(tools) == set(lines)
    for schema in tools.values():
        Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
    for (name, (_, argv)), (failed, structured, text) in zip(lines.items(), answers, strict=True):
        assert main(argv) in (0, 1), capsys.readouterr().err
        assert (name, failed, structured) == (name, False, json.loads(capsys.readouterr().out))
        assert json.loads(text) == structured
    EstimateAnswer.model_validate(answers[0][1])
    CheckAnswer.model_validate(answers[2][1])


def test_pages_logs_and_models_in_their_other_forms(tmp_path: Path) -> None:
    calls: Calls = [("explain", {"topic": "KV322"}), ("explain", {"log": OOM}), ("models", {"words": "llama-2-7b"}), ("models", {})]
    answers = session(tmp_path, calls)[1]
    assert [failed for failed, _, _ in answers] == [False] * 4
    assert [sorted(structured)[-1] for _, structured, _ in answers]
    assert answers[1][1]["outcome"] == "oom"


@needs_git
def test_check_says_what_a_change_made_worse(tmp_path: Path) -> None:
    repository(tmp_path, {"serve.sh": HELD})
    write(tmp_path, {"serve.sh": BEYOND})
    found = answer(tmp_path, "check", {"gpu": "l40s", "diff": "main"})
    assert isinstance(found["diff"], dict)
    assert [change["change"] for change in found["diff"]["changes"]] == ["worse"]


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "hint"),
    [
        pytest.param("estimate", {"model": "llama-2-7B-hf-chatt"}, "unknown_model", "", id="unknown-model"),
        pytest.param("estimate", {"model": "qwen3-8b", "gpu": "l5"}, "unknown_gpu", "kvplan gpus", id="unknown-gpu"),
        pytest.param("estimate", {}, "usage", "model", id="nothing"),
        pytest.param("estimate", {"model": "-"}, "usage", "name a file", id="stdin"),
        pytest.param("estimate", {"command": "vllm serve - --max-model-len 10"}, "usage", "name a file", id="stdin-in-a-command"),
        pytest.param("estimate", {"command": "vllm serve 'x"}, "usage", "close the quotation", id="quotation"),
        pytest.param("estimate", {"model": "nobody/knows-this"}, "offline", "online: true", id="no-network-unless-asked"),
        pytest.param("estimate", {"model": "qwen3-8b", "context": 5}, "usage", "known: ", id="unknown-key"),
        pytest.param("estimate", {"model": "qwen3-8b", "tp": "many"}, "usage", "known: ", id="no-number"),
        pytest.param("recommend", {"model": "qwen3-8b"}, "usage", "", id="no-gpu"),
        pytest.param("check", {"paths": ["nowhere"]}, "no_such_path", "", id="no-such-path"),
        pytest.param("check", {"paths": ["-"]}, "usage", "name a file", id="check-stdin"),
        pytest.param("check", {"gpu": "l5"}, "unknown_gpu", "kvplan gpus", id="check-gpu"),
        pytest.param("explain", {"topic": "KV322", "log": "x"}, "usage", "one of", id="two-things"),
        pytest.param("explain", {"path": "-"}, "usage", "as text", id="explain-stdin"),
        pytest.param("explain", {"topic": "KV999"}, "unknown", "", id="no-such-rule"),
        pytest.param("models", {"words": "-"}, "usage", "name a file", id="models-stdin"),
        pytest.param("rm", {}, "unknown_tool", "tools/list", id="no-such-tool"),
    ],
)
def test_errors_say_what_to_do(name: str, arguments: dict[str, object], kind: str, hint: str) -> None:
    from mcp import types

    from kvplan.mcp_server import server

    tools = server.tools()
    result = server.answered(tools.get(name), types.CallToolRequestParams(name=name, arguments=arguments))
    assert result.is_error
    assert result.structured_content is not None
    error = result.structured_content["error"]
    text = result.content[0].text  # type: ignore[union-attr]  # text it is
    assert (error["kind"].startswith(kind), hint in error["hint"] or hint in error["message"]) == (True, True), error
    assert text.startswith(f"error: {error['message']}")


def test_errors_reach_the_client_and_the_session_goes_on(tmp_path: Path) -> None:
    calls: Calls = [("estimate", {"model": "nope"}), ("estimate", {"model": "llama-2-7b"})]
    _, (first, second) = session(tmp_path, calls)
    assert first[0]
    assert "error" in first[1]
    assert not second[0]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such names")
def test_a_file_whose_name_is_no_text_is_answered(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.sh")).write_text("vllm serve llama-2-7b\n", encoding="utf-8")
    found = answer(tmp_path, "check", {"gpu": "l40s"})
    deployments = found["deployments"]
    assert isinstance(deployments, list)
    assert [one["file"] for one in deployments] == ["\ufffd.sh"]


def test_a_bug_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp import types

    from kvplan.mcp_server import server
    from kvplan.mcp_server.tools import models

    def broken(_: object) -> str:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(models, "answer", broken)
    result = server.answered(models, types.CallToolRequestParams(name="models", arguments={}))
    assert result.structured_content == {
        "error": {"kind": "internal_error", "message": "ZeroDivisionError: a bug", "hint": "please report it"}
    }


def test_goals_are_those_of_the_command_line_that_need_no_prices() -> None:
    from kvplan.mcp_server.tools.recommend import Asked

    goals = get_args(get_args(Asked.model_fields["goal"].annotation)[0])
    assert set(goals) == set(GOALS) - {"cost"}


def test_nothing_but_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    lines = "".join(
        f"{json.dumps({'jsonrpc': '2.0', **message})}\n"
        for message in (
            {
                "id": 1,
                "method": "initialize",
                "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
            },
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "estimate", "arguments": {"model": "llama-2-7b", "engine": "vllm@99"}}},
        )
    )
    with subprocess.Popen(
        [sys.executable, "-m", "kvplan", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(lines)
        server.stdin.flush()
        said = [server.stdout.readline(), server.stdout.readline()]
        rest, err = server.communicate(timeout=30)
    assert [json.loads(line)["id"] for line in said] == [1, 2]
    assert (rest, server.returncode) == ("", 0)
    assert "Traceback" not in err
