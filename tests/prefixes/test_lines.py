"""Lines of a log: what they may be, and what is said of those that are nothing."""

import io
import json
from array import array
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.prefixes.lines import Malformed, request
from kvplan.prefixes.log import Log
from kvplan.prefixes.request import Message, Request, Tool
from tests.prefixes.logs import written

TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def ids(*tokens: int) -> bytes:
    return array("I", tokens).tobytes()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("hello", Request(1, text="hello"), id="text"),
        pytest.param([1, 2], Request(1, ids=ids(1, 2)), id="ids"),
        pytest.param({"prompt": "hello"}, Request(1, text="hello"), id="completion"),
        pytest.param({"prompt": ["hello"]}, Request(1, text="hello"), id="completion of one"),
        pytest.param({"prompt": [1, 2]}, Request(1, ids=ids(1, 2)), id="completion of ids"),
        pytest.param({"prompt": [[1, 2]]}, Request(1, ids=ids(1, 2)), id="completion of one list of ids"),
        pytest.param({"prompt_token_ids": [1], "user": "u"}, Request(1, ids=ids(1), user="u"), id="ids by name"),
        pytest.param({"input": "hi", "instructions": "be kind"}, Request(1, text="be kind\nhi"), id="response"),
        pytest.param(
            {"input": [{"role": "user", "content": "hi"}], "instructions": "be kind"},
            Request(1, messages=(Message("system", "be kind"), Message("user", "hi"))),
            id="response with messages",
        ),
        pytest.param(
            {"custom_id": "a", "method": "POST", "body": {"prompt": "hi", "model": "m"}},
            Request(1, text="hi", apart=("m", None)),
            id="batch file",
        ),
        pytest.param(
            {"system": "be kind", "messages": [{"role": "user", "content": "hi"}]},
            Request(1, messages=(Message("system", "be kind"), Message("user", "hi"))),
            id="system apart",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, "b", {"type": "image_url", "image_url": "x"}]}]},
            Request(1, messages=(Message("user", 'ab{"type": "image_url", "image_url": "x"}'),), n_media=1),
            id="parts",
        ),
        pytest.param(
            {"messages": [{"role": "assistant", "content": None, "tool_calls": [1], "refusal": None}], "tools": [TOOL]},
            Request(1, messages=(Message("assistant", "", '{"tool_calls": [1]}'),), tools=(Tool("f", json.dumps(TOOL)),)),
            id="calls of tools",
        ),
        pytest.param({"prompt": "a", "answer": "b"}, Request(1, text="a", answer="b"), id="answer"),
        pytest.param({"prompt": "a", "output_token_ids": [1]}, Request(1, text="a", answer=ids(1)), id="ids of the answer"),
        pytest.param({"prompt": "a", "answer": [1]}, Request(1, text="a", answer=ids(1)), id="answer as ids"),
        pytest.param(
            {"prompt": "a", "response": {"choices": [{"text": "b"}], "usage": {"completion_tokens": 3}}},
            Request(1, text="a", answer="b", n_output=3),
            id="what a completion returned",
        ),
        pytest.param(
            {"prompt": "a", "response": {"body": {"choices": [{"message": {"role": "assistant", "content": "b"}}]}}},
            Request(1, text="a", answer="b"),
            id="what a batch returned",
        ),
        pytest.param(
            {"input": "a", "output": [{"type": "message", "content": [{"type": "output_text", "text": "b"}]}]},
            Request(1, text="a", answer="b"),
            id="what a response returned",
        ),
        pytest.param({"prompt": "a", "answer": [{"type": "reasoning"}]}, Request(1, text="a"), id="an answer without text"),
        pytest.param({"prompt": "a", "output_tokens": 7}, Request(1, text="a", n_output=7), id="length"),
        pytest.param(
            {"prompt": "a", "session_id": 3, "cache_salt": "s"}, Request(1, text="a", session="3", apart=(None, "s")), id="session"
        ),
        pytest.param({"prompt": "a", "time": "1970-01-01T00:01:00+00:00"}, Request(1, text="a", time=60.0), id="time"),
        pytest.param({"prompt": "a", "created": 5}, Request(1, text="a", time=5.0), id="seconds"),
        pytest.param({"prompt": "a", "time": "soon"}, Request(1, text="a"), id="no time"),
        pytest.param({"prompt": "a", "time": 1_700_000_000_000}, Request(1, text="a", time=1.7e9), id="milliseconds"),
        pytest.param({"prompt": "a", "time": 10**400}, Request(1, text="a"), id="no number of seconds"),
        pytest.param({"prompt": "a", "time": float("nan")}, Request(1, text="a"), id="not a number"),
        pytest.param({"prompt": "a", "time": "0001-01-01T00:00:00+23:00"}, Request(1, text="a"), id="before all dates"),
    ],
)
def test_what_a_line_may_be(line: object, expected: Request) -> None:
    assert request(line, 1) == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (7, "found 7"),
        ({"model": "m"}, "found the keys 'model'"),
        ({}, "of nothing"),
        ([], "at least one token"),
        ("", "an empty text"),
        ({"prompt": ""}, "'prompt': expected a prompt"),
        ([1, "2"], 'found "2"'),
        ([1, -2], "found -2"),
        ([1, 2**32], "found 4294967296"),
        ({"token_ids": "x"}, "'token_ids': expected a list"),
        ({"messages": []}, "'messages': expected a list of messages"),
        ({"messages": ["hi"]}, "'messages[0]': expected an object with a role"),
        ({"messages": [{"role": "user", "content": 7}]}, "'messages[0].content': expected text"),
        ({"messages": [{"role": "user", "content": [7]}]}, "'messages[0].content': expected parts"),
        ({"messages": [{"role": "user", "content": "x"}], "tools": "f"}, "'tools': expected a list"),
        ({"messages": [{"role": "user", "content": "x"}], "tools": ["f"]}, "'tools': expected objects"),
        ({"prompt": "a", "output_tokens": "many"}, "a number of output tokens"),
        ({"prompt": "a", "output_tokens": 10**30}, "a number of output tokens"),
    ],
)
def test_what_is_said_of_a_line_that_is_nothing(line: object, why: str) -> None:
    with pytest.raises(Malformed) as raised:
        request(line, 1)
    assert why in str(raised.value)


def test_the_first_bad_line_ends_the_run_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, "a", {"x": 1})
    with pytest.raises(RequestError) as raised:
        list(Log(path, skip_bad=False))
    assert raised.value.message.startswith(f"{path}:2: expected a chat")
    assert "--skip-bad" in raised.value.hint


def test_bad_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'"a"\n\n{"x"\n\xff\n[]\n7\n"b"\n')
    log = Log(str(path), skip_bad=True)
    assert [one.text for one in log] == ["a", "b"]
    assert (log.n_lines, log.n_skipped, len(log.skipped)) == (7, 4, 3)
    assert log.skipped[0].startswith(f"{path}:3: expected one JSON value: ")


def test_a_file_of_prompts(tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text('a\n{"b"\n')
    assert [one.text for one in Log(str(path), skip_bad=False)] == ["a", '{"b"']


def test_a_mark_of_byte_order_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('"a"\n"b"\n', encoding="utf-8-sig")
    assert [one.text for one in Log(str(path), skip_bad=False)] == ["a", "b"]


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'"a"\n')))
    assert [one.text for one in Log("-", skip_bad=False)] == ["a"]


@pytest.mark.parametrize("content", ["", "\n \n", "7\n"])
def test_a_log_without_requests(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(content)
    with pytest.raises(RequestError, match="holds no request"):
        list(Log(str(path), skip_bad=True))


def test_no_file() -> None:
    with pytest.raises(RequestError, match="No such file"):
        list(Log("nowhere.jsonl", skip_bad=False))
