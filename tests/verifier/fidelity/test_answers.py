"""What is shown of a study."""

import json
from pathlib import Path

import pytest

from kvplan.render import quality
from kvplan.render.envelope import dumps
from kvplan.render.quality_schema import QualityAnswer
from tests.running import Run
from tests.verifier.fidelity.made import study

CASE = Path(__file__).parents[2] / "cases" / "quality" / "text.out"


def test_the_text_is_pinned(request: pytest.FixtureRequest) -> None:
    shown = quality.text(study())
    if request.config.getoption("--update-golden"):
        CASE.write_text(shown)
    assert shown == CASE.read_text()


def test_the_json_holds_to_the_schema() -> None:
    answer = QualityAnswer.model_validate_json(dumps(quality.as_json(study())))
    assert [one.verdict for one in answer.caches] == ["within_noise", "some_loss", "bad", "failed"]
    assert [one.rule for one in answer.findings] == ["KV660"]
    assert answer.reference.bytes == 2 * 2**30
    assert answer.caches[0].saved_bytes == answer.reference.bytes - answer.caches[0].bytes


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_report_shows_it(kvplan: Run, tmp_path: Path, form: str) -> None:
    file = tmp_path / "quality.json"
    file.write_text(dumps(quality.as_json(study())))
    code, out, err = kvplan("report", str(file), "--format", form)
    assert (code, err) == (0, "")
    for words in ("Quality of quantized caches: llama-2-7b", "within noise", "some loss", "bad", "failed", "int4:k=channel"):
        assert words in out
    if form == "html":
        assert "of the caches within noise int8 is the smallest" in out
        assert "KV660" in out


def test_a_report_of_something_else_is_refused(kvplan: Run, tmp_path: Path) -> None:
    answer = json.loads(dumps(quality.as_json(study())))
    answer["caches"][0]["bytes"] = "many"
    (tmp_path / "quality.json").write_text(json.dumps(answer))
    code, _, err = kvplan("report", str(tmp_path / "quality.json"))
    assert code == 2
    assert "caches.0.bytes: expected a whole number" in err


def test_nothing_within_noise_is_said(kvplan: Run, tmp_path: Path) -> None:
    answer = json.loads(dumps(quality.as_json(study())))
    answer["caches"] = answer["caches"][2:]
    (tmp_path / "quality.json").write_text(json.dumps(answer))
    assert "no quantized cache that was tried is within noise" in kvplan("report", str(tmp_path / "quality.json")).out
