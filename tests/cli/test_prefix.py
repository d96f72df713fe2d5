"""``kvplan prefix``: text and JSON, pinned; what it is told wrong."""

import json
from pathlib import Path

import pytest

from kvplan.render.prefix_schema import PrefixAnswer, schema_text
from tests.running import Run, refused

CASES = Path(__file__).parent.parent / "cases" / "prefix"
LOGS = "tests/cases/prefix"
COMMANDS = {
    "support": f"{LOGS}/support.jsonl --model llama-3.1-8b --gpu l4",
    "explained": f"{LOGS}/support.jsonl --explain --pool-tokens 1200",
    "chat": "--chat turns=6,user=200,answer=300,system=1000,edit=5@3,sessions=8 --model llama-3.1-8b --gpu l4 --explain",
    "hybrid": "--chat turns=30,user=1k,answer=1k --model qwen3-next-80b-a3b --gpu h100-sxm:4",
    "windows": "--chat turns=4,user=5k,answer=1k --model gemma-3-12b --gpu l40s --engine llama.cpp",
    "slots": f"{LOGS}/cut.jsonl --engine llama.cpp --slots 2 --explain",
    "whitespace": f"{LOGS}/blanks.jsonl",
    "plain": f"{LOGS}/plain.jsonl --engine sglang",
    "json": f"{LOGS}/support.jsonl --model llama-3.1-8b --gpu l4 --json",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_answer_is_pinned(kvplan: Run, request: pytest.FixtureRequest, name: str) -> None:
    case = CASES / f"{name}.out"
    code, out, err = kvplan("prefix", *COMMANDS[name].split())
    if request.config.getoption("--update-golden"):
        case.write_text(out + err)
    assert (code, out + err) == (0, case.read_text())


def test_the_schema_is_pinned(kvplan: Run, request: pytest.FixtureRequest) -> None:
    schema = CASES / "schema.json"
    if request.config.getoption("--update-golden"):
        schema.write_text(schema_text())
    assert kvplan("prefix", "--json-schema").out == schema_text() == schema.read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_answer_holds_to_the_schema(kvplan: Run, name: str) -> None:
    out = kvplan("prefix", *COMMANDS[name].replace("--explain", "").split(), "--json").out
    PrefixAnswer.model_validate_json(out)


def test_findings_are_on_stderr_unless_q_is_said(kvplan: Run) -> None:
    assert "note[KV641]: " in kvplan("prefix", f"{LOGS}/plain.jsonl").err
    assert kvplan("prefix", f"{LOGS}/plain.jsonl", "-q").err == ""
    found = kvplan("prefix", f"{LOGS}/plain.jsonl", "--json")
    assert found.err == ""
    assert {one["rule"] for one in json.loads(found.out)["findings"]} == {"KV641", "KV643"}


def test_o(kvplan: Run, tmp_path: Path) -> None:
    assert kvplan("prefix", f"{LOGS}/plain.jsonl", "-q", "-o", str(tmp_path / "answer")) == (0, "", "")
    assert "hit rate" in (tmp_path / "answer").read_text()


def test_the_model_of_a_command(kvplan: Run) -> None:
    argv = f"{LOGS}/support.jsonl --gpu l4 --json -- vllm serve llama-3.1-8b --max-model-len 8192 --block-size 32".split()
    engine = json.loads(kvplan("prefix", *argv).out)["engine"]
    assert (engine["model"], engine["block_tokens"], engine["pool_from"]) == ("llama-3.1-8b", 32, "estimate")


def test_what_is_wrong(kvplan: Run) -> None:
    assert "no REQUESTS were named" in refused(kvplan, "prefix")
    assert "--chat makes the requests up" in refused(kvplan, "prefix", f"{LOGS}/plain.jsonl", "--chat", "turns=2")
    assert f"{LOGS}/bad.jsonl:2: expected one JSON value" in refused(kvplan, "prefix", f"{LOGS}/bad.jsonl")
    assert "nowhere.jsonl: No such file" in refused(kvplan, "prefix", "nowhere.jsonl")


def test_how_far_it_is_on_a_terminal(kvplan: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("[1, 2, 3]\n" * 4001)
    assert kvplan("prefix", str(log), "-q").err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "4,000 requests replayed" in kvplan("prefix", str(log), "-q").err
