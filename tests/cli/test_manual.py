"""explain, rules and engines."""

import json
from pathlib import Path

import pytest

from kvplan.cli import offers
from kvplan.explainer import manual
from tests.running import Run, refused


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (["KV322"], "KV322"),
        (["kv322"], "KV322"),
        (["kv_cache"], "kv_cache"),
        (["KV", "cache"], "kv_cache"),
        (["max_model_len"], "max-model-len"),
    ],
)
def test_a_page_is_found_however_it_is_written(kvplan: Run, said: list[str], name: str) -> None:
    ran = kvplan("explain", *said, "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found["id"] == name
    assert list(found) == ["schema_version", "kvplan", "id", "level", "summary", "sections"]
    assert [section["title"] for section in found["sections"]][1:3] == ["Why it matters", "What to do"]


def test_a_page_as_text(kvplan: Run) -> None:
    ran = kvplan("explain", "KV322")
    head, summary, blank, title, first, *_ = ran.out.splitlines()
    assert (head, blank, title) == ("KV322 · note", "", "What it says")
    assert summary == manual.read("KV322").summary
    assert first.startswith("  The model has layers of several kinds")
    assert "\n  $ kvplan estimate gemma-3-27b" in ran.out
    assert "```" not in ran.out


@pytest.mark.parametrize("name", manual.ids())
def test_pages_stay_within_80_columns(kvplan: Run, name: str) -> None:
    assert max(map(len, kvplan("explain", name).out.splitlines())) <= 80


def test_a_term_has_no_level(kvplan: Run) -> None:
    assert json.loads(kvplan("explain", "weights", "--json").out)["level"] is None
    assert kvplan("explain", "weights").out.startswith("weights · term\n")


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("KV399", "no rule or term 'KV399'"),
        ("kvcache", "hint: did you mean 'kv_cache' or 'kv-cache-dtype'?"),
        ("utilization", "hint: did you mean 'gpu-memory-utilization' or "),
        ("xyzzy", "hint: `kvplan rules` lists the rules"),
        ("x\0y", "no rule or term"),
    ],
)
def test_an_unknown_page_gets_near_matches(kvplan: Run, said: str, complaint: str) -> None:
    assert complaint in refused(kvplan, "explain", said)


def test_what_is_a_log_is_read_as_one(kvplan: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "serving").write_text("GPU KV cache size: 27,861 tokens")
    assert "27,861" in kvplan("explain", "serving").out
    for said in ("logs/vllm", "vllm.log"):
        assert f"{said}: No such file or directory" in refused(kvplan, "explain", said)
    (tmp_path / "weights").write_text("a file of the name of a term")
    assert kvplan("explain", "weights").code == 0


def test_explain_needs_a_word(kvplan: Run) -> None:
    assert "no LOG, RULE or TERM was named" in refused(kvplan, "explain")


def test_rules_are_listed_and_filtered(kvplan: Run) -> None:
    text = kvplan("rules").out
    assert max(map(len, text.splitlines())) <= 80
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("KV")]
    assert listed == [page.id for page in manual.rules()]
    found = json.loads(kvplan("rules", "refusal", "pool", "--json").out)["rules"]
    assert {"id": "KV102", "level": "refusal", "summary": manual.read("KV102").summary} in found
    assert all("pool" in rule["summary"] for rule in found)
    assert "no rule has 'xyzzy' in its id, level or summary" in refused(kvplan, "rules", "xyzzy")


def test_engines_are_listed(kvplan: Run) -> None:
    found = json.loads(kvplan("engines", "--json").out)["engines"]
    assert {engine["name"] for engine in found} >= {"transformers", "vllm"}
    text = kvplan("engines").out
    assert max(map(len, text.splitlines())) <= 80
    for engine in found:
        assert engine["name"] in engine["names"]
        for name in (engine["names"][0], engine["versions"][0], engine["versions"][-1]):
            assert name in text


def test_shells_are_offered_the_pages() -> None:
    assert {"KV322", "max-model-len"} <= set(offers.pages())
