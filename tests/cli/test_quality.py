"""``kvplan quality`` as a person types it; runs are in tests/verifier/fidelity."""

import importlib.util
from pathlib import Path

import pytest

from kvplan.render.quality_schema import schema_text
from tests.running import Run
from tests.verifier.models import LLAMA, write

SCHEMA = Path(__file__).parent.parent / "cases" / "quality" / "schema.json"


def test_the_schema_is_pinned(kvplan: Run, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(schema_text())
    assert kvplan("quality", "--json-schema").out == schema_text() == SCHEMA.read_text()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("", "no MODEL was named"),
        ("llama-2-7b --kv-dtype int9", "found 'int9'"),
        ("llama-2-7b --new 0", "--new: expected"),
        ("llama-2-7b --samples none.jsonl", "none.jsonl: No such file"),
        ("llama-2-7b --kv-dtype int4:group=48", "do not divide heads of 128"),
        ("deepseek-v2-lite", "not of mla attention"),
        ("no-such-model", "unknown model"),
    ],
)
def test_a_wrong_request_is_told_before_anything_runs(kvplan: Run, argv: str, words: str) -> None:
    code, out, err = kvplan("quality", *argv.split())
    assert (code, out) == (2, "")
    assert words in err


def test_a_config_holds_no_weights(kvplan: Run, tmp_path: Path) -> None:
    code, _, err = kvplan("quality", write(tmp_path, LLAMA))
    assert code == 2
    assert "expected weights" in err


def test_two_samples_of_one_id(kvplan: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n')
    code, _, err = kvplan("quality", "llama-2-7b", "--samples", str(tmp_path / "mine.jsonl"))
    assert code == 2
    assert "two samples have one id" in err


def test_without_torch_there_is_no_run(kvplan: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "torch" else find(name, *rest))
    code, out, err = kvplan("quality", "smollm2-135m")
    assert (code, out) == (3, "")
    assert "not installed: torch" in err
    assert "pip install 'kvplan[verify]'" in err
