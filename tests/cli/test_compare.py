"""``kvplan compare``: what makes a side, and what is said of each."""

import json
from typing import Any

import pytest

import kvplan as library
from tests.running import Run, refused

UPGRADE = ("--gpu", "l4", "--engine", "vllm@0.19.0,vllm@0.33.0", "--", "vllm", "serve", "qwen3-8b", "--max-model-len", "8192")


def answer(kvplan: Run, *words: str) -> dict[str, Any]:
    ran = kvplan("compare", "--json", *words)
    assert ran.code == 0
    return dict(json.loads(ran.out))


def figures(found: dict[str, Any]) -> dict[str, list[Any]]:
    return {one["name"]: one["values"] for one in found["figures"]}


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        pytest.param(("qwen3-8b", "llama-3.1-8b"), ["qwen3-8b", "llama-3.1-8b"], id="models"),
        pytest.param(("qwen3-8b", "--gpu", "l4,l40s"), ["l4", "l40s"], id="gpus"),
        pytest.param(("qwen3-8b", "--engine", "vllm", "--kv-dtype", "auto,fp8", "--gpu", "l4"), ["auto", "fp8"], id="caches"),
        pytest.param(("qwen3-8b", "--ctx", "4k,8k", "--batch", "1,2"), ["4k · 1", "4k · 2", "8k · 1", "8k · 2"], id="grid"),
        pytest.param(("qwen3-8b", "gemma-3-4b", "--gpu", "l4,t4"), 4 * [None], id="models-and-gpus"),
        pytest.param(UPGRADE, ["vllm@0.19.0", "vllm@0.33.0"], id="versions"),
        pytest.param(
            ("--gpu", "l4", "--", "vllm", "serve", "qwen3-8b", "--", "llama-server", "-m", "qwen3-8b"),
            ["command 1 · vllm@0.33.0", "command 2 · llama.cpp@b11434"],
            id="commands",
        ),
        pytest.param(
            ("--gpu", "l4", "--", "vllm", "serve", "qwen3-8b", "--", "vllm", "serve", "qwen3-8b", "--max-num-seqs", "8"),
            ["command 1", "command 2"],
            id="commands of one engine",
        ),
    ],
)
def test_sides(kvplan: Run, words: tuple[str, ...], labels: list[str | None]) -> None:
    found = [side["label"] for side in answer(kvplan, *words)["sides"]]
    assert len(found) == len(labels)
    assert labels[0] is None or found == labels


def test_an_upgrade_says_what_happens_to_context_and_concurrency(kvplan: Run) -> None:
    found = answer(kvplan, *UPGRADE)
    for side, version in zip(found["sides"], ("0.19.0", "0.33.0"), strict=True):
        alone = json.loads(kvplan("estimate", "--gpu", "l4", "--engine", f"vllm@{version}", "--json", *UPGRADE[4:]).out)
        assert {key: value for key, value in alone.items() if key in side and key != "fits_on"} == {
            key: value for key, value in side.items() if key not in ("label", "fits_on")
        }
    assert figures(found)["max_ctx_tokens"] == [27_344, 22_400]
    ran = kvplan("compare", *UPGRADE)
    assert "vllm@0.33.0 beside vllm@0.19.0: needs" in ran.out
    assert "context 22,400 for 27,344" in ran.out


def test_terms_sum_up_to_the_total(kvplan: Run) -> None:
    found = answer(kvplan, "qwen3-8b", "llama-3.1-8b", "--gpu", "l4")
    *terms, total, _ = found["terms"]
    for n in range(2):
        assert sum(term["sides"][n]["bytes"] for term in terms) == total["sides"][n]["bytes"] == found["sides"][n]["total_bytes"]
        assert total["delta_bytes"][n] == found["sides"][n]["total_bytes"] - found["sides"][0]["total_bytes"]
    assert {term["term"]: term["differs"] for term in terms}["weights"]


def test_the_library_answers_as_the_command_line_does() -> None:
    found = library.compare("qwen3-8b", gpu="l4,l40s", ctx=4096)
    assert [side.label for side in found.sides] == ["l4", "l40s"]
    assert found.rows[-1].term == "needed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("qwen3-8b",), "one side only", id="one"),
        pytest.param((), "one side only", id="none"),
        pytest.param(("qwen3-8b", "--gpu", "l4,"), "--gpu l4,: an empty place in the list", id="empty"),
        pytest.param(("qwen3-8b", "--gpu", "l4,l9"), "unknown GPU 'l9'", id="unknown"),
        pytest.param(("qwen3-8b", "--ctx", "1k,2k,4k", "--batch", "1,2,4"), "9 sides are more than anybody reads", id="many"),
        pytest.param(("qwen3-8b", "--gpu", "l4", "--", "vllm", "serve", "qwen3-8b"), "models and commands can't be mixed", id="mixed"),
    ],
)
def test_wrong_requests(kvplan: Run, words: tuple[str, ...], said: str) -> None:
    assert said in refused(kvplan, "compare", *words)
