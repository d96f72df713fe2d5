"""What `kvplan report` takes and refuses."""

import json
from pathlib import Path

import pytest

from tests.report.reading import Page
from tests.report.test_page import DATA
from tests.running import Run, refused

GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, "vocab_size": 100}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param((), "nothing to report on", id="nothing"),
        pytest.param(("qwen3-8b", "--json", "--format", "md"), "two forms", id="two forms"),
        pytest.param(("qwen3-8b", "--gpu", "l4,,l40s"), "an empty place", id="an empty place"),
        pytest.param(("qwen3-9b",), "qwen3-9b", id="no such model"),
        pytest.param(("qwen3-8b", "--ctx", "1k,2k,3k", "--batch", "1,2,3"), "more than anybody reads", id="too many"),
    ],
)
def test_wrong_requests(kvplan: Run, words: tuple[str, ...], complaint: str) -> None:
    assert complaint in refused(kvplan, "report", *words)


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        pytest.param({"schema_version": 2, "kvplan": "9", "entries": []}, "schema_version 2", id="a newer one"),
        pytest.param({"schema_version": "1", "kvplan": "9", "entries": []}, "schema_version '1' is not 1", id="a word"),
        pytest.param({"schema_version": True, "kvplan": "9", "entries": []}, "schema_version True is not 1", id="a truth"),
        pytest.param({"schema_version": 1, "kvplan": "0.1.0", "gpus": []}, "no answer that a report shows", id="another command"),
        pytest.param({"schema_version": 1, "kvplan": "0.1.0", "entries": []}, "expected", id="half an estimate"),
        pytest.param({"schema_version": 1, "job": {}, "outcome": "ran", "device": {}}, "no record of a run", id="half a record"),
    ],
)
def test_files_that_are_no_results(kvplan: Run, tmp_path: Path, found: dict[str, object], complaint: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(found))
    assert complaint in refused(kvplan, "report", str(path))


def test_a_config_is_a_model(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], **GPT2}))
    ran = kvplan("report", str(path), "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["subjects"][0]["estimate"]["model"]["architecture"] == "GPT2LMHeadModel"


def test_a_report_is_a_result(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert kvplan("report", "qwen3-8b", "--gpu", "l4", "-o", str(path)).code == 0
    made, verify = json.loads(path.read_text()), str(DATA / "verify.json")
    again = json.loads(kvplan("report", str(path), verify, "--json").out)
    assert again["subjects"] == made["subjects"]
    assert [one["kind"] for one in again["results"]] == ["verify"]
    assert [one["kind"] for one in again["report"]["inputs"]] == ["report", "verify"]


def test_a_record_is_held_to_the_estimate_of_now(kvplan: Run) -> None:
    ran = kvplan("report", str(DATA / "record.json"), "--json")
    terms = {one["term"]: one for one in json.loads(ran.out)["results"][0]["answer"]["terms"]}
    assert terms["kv_cache"]["measured_bytes"] == terms["kv_cache"]["estimate_bytes"] == 2_097_152


def test_commands_stand_side_by_side(kvplan: Run) -> None:
    words = ("--", "vllm", "serve", "qwen3-8b", "--max-model-len", "8k")
    ran = kvplan("report", "--gpu", "l4", *words, *words, "--kv-cache-dtype", "fp8")
    page = Page(ran.out)
    assert page.all("h1")[0].words == "qwen3-8b: 2 choices side by side"
    assert [one.words for one in page.of("subject")] == ["command 1", "command 2"]
    assert page.of("sentence")[0].words.endswith(".")


def test_ranks_that_are_alike_are_named(kvplan: Run) -> None:
    page = Page(kvplan("report", "llama-3.1-70b", "--engine", "vllm", "--gpu", "h100-sxm:8", "--tp", "4", "--ctx", "8k").out)
    assert "gpu1, gpu2, gpu3 hold the same" in page.all("figcaption")[0].words


def test_markdown_says_the_same(kvplan: Run) -> None:
    words = ("report", "llama-3.1-8b", "--engine", "vllm", "--gpu", "l4", "--ctx", "8k", "--batch", "4")
    text, page = kvplan(*words, "--format", "md").out, Page(kvplan(*words).out)
    assert page.of("sentence")[0].words.strip().replace("_", "\\_") in text
    sizes = [one.words for one in page.all("data") if one.words.endswith("GiB") and ".entries." in one.attrs["data-path"]]
    assert len(sizes) > 3
    assert all(size in text for size in sizes)


def test_several_results_in_markdown(kvplan: Run) -> None:
    text = kvplan("report", *map(str, sorted(DATA.glob("*.json"))), "--format", "md").out
    for heading in (
        "# qwen3-8b: 3 choices side by side",
        "## Recommended",
        "## Measured beside estimated",
        "## Checked deployments",
        "## Sweep",
    ):
        assert heading in text


def test_options_that_change_nothing(kvplan: Run) -> None:
    assert "--gpu changes nothing" in refused(kvplan, "report", str(DATA / "verify.json"), "--gpu", "l4")


@pytest.mark.parametrize("form", ["html", "md"])
def test_no_name_steers_a_terminal(kvplan: Run, tmp_path: Path, form: str) -> None:
    answer = json.loads(kvplan("estimate", "llama-2-7b", "--ctx", "1k", "--json").out)
    answer["model"]["id"] = "\x1b[31mred\u202e"
    path = tmp_path / "result.json"
    path.write_text(json.dumps(answer))
    ran = kvplan("report", str(path), "--format", form)
    assert ran.code == 0
    assert "x1b" in ran.out
    assert not {"\x1b", "\u202e"} & set(ran.out)
