"""Many requests in one run."""

import json
from pathlib import Path

import pytest

from tests.running import Run, refused


def test_one_bad_request_does_not_lose_the_others(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    lines = [
        '{"id": "a", "model": "llama-2-7b", "ctx": 4096, "batch": 8}',
        "{nonsense",
        '{"id": "b", "model": "nope"}',
        "[1]",
        '{"id": "c", "modle": "x"}',
    ]
    path.write_text("\n".join(lines))
    code, out, _ = kvplan("estimate", "--requests", str(path))
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [answer["id"] for answer in answers] == ["a", None, "b", None, "c"]
    assert answers[0]["kv"]["ideal_bytes"] == 17_179_869_184
    assert [answer["error"]["kind"] for answer in answers[1:]] == ["bad_json", "unknown_model", "bad_request", "unknown_option"]
    assert "did you mean 'model'" in answers[4]["error"]["hint"]


BAD_LINES = [
    pytest.param(b'{"id": "a", "id": "b"}', None, "key 'id' appears twice", id="an id twice"),
    pytest.param(b'{"id": "a", "kv-dtype": "fp16", "kv_dtype": "fp8"}', "a", "key 'kv_dtype' appears twice", id="an option twice"),
    pytest.param(b'{"id": NaN, "model": "llama-2-7b"}', None, "NaN is no number in JSON", id="not a number"),
    pytest.param(b'{"id": 1e999, "model": "llama-2-7b"}', None, "id: expected a string or a whole number, found Infinity", id="infinite"),
    pytest.param(
        b'{"id": {"a": 1}, "model": "llama-2-7b"}', None, 'id: expected a string or a whole number, found {"a": 1}', id="an object"
    ),
    pytest.param(b"null", None, "expected an object, found null", id="null"),
    pytest.param(b'{"id": "a", "model": "-"}', "a", "'-' is stdin", id="stdin"),
    pytest.param(b'{"id": "a", "command": "transformers -"}', "a", "'-' is stdin", id="stdin in a command"),
    pytest.param(b'{"id": "a", "model": "a\\u0000b.json"}', "a", "null", id="a NUL"),
    pytest.param(b'{"id": "a", "model": "\\ud800.json"}', "a", "ud800.json", id="half a character"),
    pytest.param(b'{"id": "a", "model": "llama-2-7b", "ctx": true}', "a", "ctx: expected a string or a whole number", id="true"),
    pytest.param(b'{"id": "a", "model": "llama-2-7b", "ctx": 4.0}', "a", "ctx: expected a string or a whole number", id="a float"),
    pytest.param(b'{"id": "a", "model": "' + b"x" * 2**21 + b'"}', None, "longer than 1048576 bytes", id="a line without end"),
    pytest.param(b"[" * 100_000, None, "invalid JSON", id="nested without end"),
    pytest.param("{}".encode("utf-16"), None, "no model was named", id="UTF-16"),
]


@pytest.mark.parametrize(("line", "its_id", "words"), BAD_LINES)
def test_bad_requests(kvplan: Run, tmp_path: Path, line: bytes, its_id: object, words: str) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(line + b'\r\n\n{"id": "last", "model": "llama-2-7b"}' if b"\0" not in line else line)
    code, out, err = kvplan("estimate", "--requests", str(path))
    first, *rest = [json.loads(text, parse_constant=pytest.fail) for text in out.splitlines()]
    assert (code, err, first["id"]) == (0, "", its_id)
    assert its_id is not None or first["line"] == 1
    assert words in first["error"]["message"]
    assert first["error"]["kind"] != "internal_error"
    assert all(answer["id"] == "last" and "error" not in answer for answer in rest)


@pytest.mark.parametrize("option", [["--ctx", "8"], ["--gpu", "h100-sxm"], ["--require-fit"], ["--explain"]])
def test_options_beside_requests(kvplan: Run, tmp_path: Path, option: list[str]) -> None:
    assert f"{option[0]} beside --requests" in refused(kvplan, "estimate", "--requests", str(tmp_path / "any"), *option)
