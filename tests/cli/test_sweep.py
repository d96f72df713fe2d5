"""``kvplan sweep``: tables, JSON and CSV, lines that say why."""

import csv
import io
import json
from pathlib import Path

import pytest

from kvplan.render.sweep_schema import SweepAnswer, schema_text
from kvplan.render.table import middled
from tests.cli.configs import LLAMA
from tests.running import Run, refused

CASES = Path(__file__).parent.parent / "cases" / "sweep"
COMMANDS = {
    "grid": "llama-2-7b --ctx 2k,4k,8k --batch 1,16 --gpu a100-80",
    "one": "qwen3-8b --ctx 8k,32k --kv-dtype auto,fp8 --engine vllm@0.19,vllm@0.33 --gpu rtx-4090,l40s --one-at-a-time",
    "knee": "llama-2-7b --ctx 1k,4k --batch 1,4,16,64,128 --gpu h200 --engine vllm",
    "why": "qwen3-8b,nosuch --engine vllm,ollama --ctx 32k,64k,x --gpu rtx-4090",
    "points.csv": "gemma-3-12b --ctx 4k,32k --engine transformers,vllm,llama.cpp --budget 40GiB --csv",
    "points.json": "llama-2-7b --ctx 4k,8k --tp 1,2,x --engine vllm --gpu l40s:2 --json",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_answer_is_pinned(kvplan: Run, request: pytest.FixtureRequest, name: str) -> None:
    case = CASES / f"{name}.out"
    code, out, err = kvplan("sweep", *COMMANDS[name].split())
    if request.config.getoption("--update-golden"):
        case.write_text(out)
    assert (code, out, err) == (0, case.read_text(), "")


def test_the_schema_is_pinned(kvplan: Run, request: pytest.FixtureRequest) -> None:
    schema = CASES / "schema.json"
    if request.config.getoption("--update-golden"):
        schema.write_text(schema_text())
    assert kvplan("sweep", "--json-schema").out == schema_text() == schema.read_text()


def test_every_answer_holds_to_the_schema(kvplan: Run) -> None:
    for argv in ("llama-2-7b", "llama-2-7b --gpu h100-sxm --ctx 4k,8k", COMMANDS["why"], COMMANDS["one"]):
        SweepAnswer.model_validate_json(kvplan("sweep", *argv.split(), "--json").out)


def test_csv_has_a_line_for_each_point_of_the_json(kvplan: Run) -> None:
    argv = COMMANDS["why"].split()
    rows = list(csv.DictReader(io.StringIO(kvplan("sweep", *argv, "--csv").out)))
    points = json.loads(kvplan("sweep", *argv, "--json").out)["points"]
    assert [row["needed_bytes"] for row in rows] == [str(point["needed_bytes"] or "") for point in points]
    assert [row["error"] for row in rows] == [point["error"]["message"] if point["error"] else "" for point in points]
    assert [row["refusals"].split() for row in rows] == [[refusal["rule"] for refusal in point["refusals"]] for point in points]


def test_tables_are_as_wide_as_the_terminal(kvplan: Run) -> None:
    lines = kvplan("sweep", *COMMANDS["why"].split()).out.splitlines()
    assert max(map(len, lines)) <= 80


def test_long_words_lose_their_middle() -> None:
    assert middled("a-model-of-a-long-name", 9) == "a-mo…name"
    assert middled("short", 9) == "short"


def test_o_has_the_whole_answer(kvplan: Run, tmp_path: Path) -> None:
    assert kvplan("sweep", *COMMANDS["grid"].split(), "-o", str(tmp_path / "sweep")) == (0, "", "")
    assert (tmp_path / "sweep").read_text().startswith((CASES / "grid.out").read_text())


def test_a_file_with_a_comma_in_its_name_is_one_model(kvplan: Run, tmp_path: Path) -> None:
    config = tmp_path / "one,two.json"
    config.write_text(json.dumps(LLAMA))
    answer = json.loads(kvplan("sweep", str(config), "--ctx", "64", "--json").out)
    assert len(answer["points"]) == 1


def test_what_no_sweep_can_be_made_of(kvplan: Run) -> None:
    assert "no MODEL was named" in refused(kvplan, "sweep", "--ctx", "4k")
    assert "unknown GPU 'h10'" in refused(kvplan, "sweep", "llama-2-7b", "--gpu", "h10,h11")
    assert "two forms" in refused(kvplan, "sweep", "llama-2-7b", "--json", "--csv")
    assert "--ctx: a value is missing" in refused(kvplan, "sweep", "llama-2-7b", "--ctx", "4k,,8k")
    assert "unexpected words" in refused(kvplan, "sweep", "llama-2-7b", "--", "vllm", "serve")
