"""A log of each engine's generations, written from the format strings that the shapes cite, and what is read in it."""

import json
from pathlib import Path

import pytest

from kvplan.explainer.explanation import explain
from kvplan.render import explanation

LOGS = sorted((Path(__file__).parent / "logs").glob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_each_generation(log: Path, request: pytest.FixtureRequest) -> None:
    found = json.loads(explanation.as_json(explain(str(log))))
    shown = {
        "engine": found["engine"],
        "version": found["version"],
        "model": found["model"],
        "gpu": found["gpu"],
        "outcome": found["outcome"],
        "cause": found["cause"],
        "fixes": [f"{fix['flag']}: {fix['from']} -> {fix['to']} ({fix['effect_bytes']})" for fix in found["fixes"]],
        "figures": [f"{one['line']}: {one['label']} = {one['value']} {one['unit']}" for one in found["figures"]],
        "ledger": [f"{row['term']}: {row['printed_bytes']} / {row['estimated_bytes']}" for row in found["ledger"]],
        "earlier": [f"{before['start']}: {before['version']} {before['outcome']}" for before in found["earlier_starts"]],
    }
    golden = log.with_suffix(".json")
    if request.config.getoption("--update-golden"):
        golden.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(golden.read_text(encoding="utf-8")) == shown


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_text_and_markdown_show_the_cause(log: Path) -> None:
    found = explain(str(log))
    text, markdown = explanation.text(found, paint=lambda words, style: words), explanation.markdown(found)
    for finding in found.findings:
        assert f"[{finding.rule}]: {finding.message}" in text
        assert f"**{finding.rule}** {finding.message}" in markdown
