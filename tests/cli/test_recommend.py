"""``kvplan recommend`` as people and programs see it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kvplan.core.device import Gpu
from kvplan.core.errors import UnavailableError
from kvplan.estimator import Options
from kvplan.recommender import anywhere
from kvplan.recommender.dialects import dialect
from kvplan.recommender.request import Request
from tests.gguf.writing import header, llama, llama_tensors
from tests.running import Run, refused


def answer(kvplan: Run, *words: str, code: int = 0) -> dict[str, Any]:
    ran = kvplan("recommend", "--json", *words)
    assert ran.code == code
    assert ran.err == ""
    return dict(json.loads(ran.out))


def test_every_key_of_the_contract_is_there(kvplan: Run) -> None:
    found = answer(kvplan, "qwen3-8b", "--gpu", "l4")
    assert found["schema_version"] == 1
    assert {"proposals", "rejected", "ladder"} <= set(found)
    first = found["proposals"][0]
    told = {"command", "engine", "settings", "verdict", "headroom_bytes", "capacity", "performance", "quality_risk", "needs_checkpoint"}
    assert told | {"changed_flags", "why"} <= set(first)
    assert first["verdict"] == "fits"
    assert first["engine"] == "vllm"
    assert first["settings"]["max_num_seqs"] == 3
    assert all(set(change) == {"flag", "from", "to", "effect_bytes"} for change in first["changed_flags"])
    assert all(set(one) >= {"settings", "why"} for one in found["rejected"])
    assert all(set(rung) >= {"concurrency", "needed_bytes", "decode_tokens_per_s"} for rung in found["ladder"])
    assert [rung["concurrency"] for rung in found["ladder"]] == [1, 2, 3]
    needed = [rung["needed_bytes"] for rung in found["ladder"]]
    assert needed == sorted(needed)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("llama-3.1-8b", "--gpu", "rtx-3060-12"), id="llama.cpp"),
        pytest.param(("qwen3-8b", "--gpu", "l4"), id="vllm"),
        pytest.param(("llama-3.1-8b", "--gpu", "l4", "--engine", "vllm@0.19.0", "--goal", "context"), id="an older version"),
        pytest.param(("llama-3.1-8b", "--budget", "24GiB", "--engine", "vllm", "--kv-dtype", "fp8"), id="a budget"),
        pytest.param(("llama-3.1-70b", "--gpu", "h100-sxm:4", "--tp", "4", "--ctx", "8k", "--concurrency", "4"), id="several cards"),
        pytest.param(("--gpu", "l4", "--ctx", "4k", "--", "vllm", "serve", "qwen3-8b", "--max-model-len", "32768"), id="a command"),
    ],
)
def test_what_is_said_to_check_a_proposal_says_the_same(kvplan: Run, words: tuple[str, ...]) -> None:
    for proposal in answer(kvplan, *words)["proposals"]:
        said = proposal["estimate"]
        assert said[0] == "kvplan"
        found = json.loads(kvplan("estimate", "--json", *said[2:]).out)
        assert found["verdict"] == "fits"
        assert found["refusals"] == []
        same = ("needed_bytes", "needed_high_bytes", "headroom_bytes", "capacity", "performance", "predicted_log")
        assert {key: found[key] for key in same} == {key: proposal[key] for key in same}


def test_a_checkpoint_that_nobody_named_is_never_ready(kvplan: Run) -> None:
    found = answer(kvplan, "llama-3.1-8b", "--gpu", "t4")["proposals"]
    assert [(one["plan"]["weights"], one["needs_checkpoint"]) for one in found] == [("bitsandbytes", False), ("awq", True)]
    ran = kvplan("recommend", "llama-3.1-8b", "--gpu", "t4")
    assert ran.out.count("not ready to run: ") == 1


def test_nothing_fits(kvplan: Run) -> None:
    found = answer(kvplan, "deepseek-v3", "--gpu", "rtx-3060-12", code=1)
    assert found["proposals"] == []
    assert found["rejected"]
    assert found["fits_on"][0]["gpu"] == "mi300x"
    ran = kvplan("recommend", "deepseek-v3", "--gpu", "rtx-3060-12")
    assert ran.code == 1
    assert "nearest miss: llama-server" in ran.out
    assert "smallest that would do: 2 × mi300x" in ran.out


def test_nothing_in_the_catalogue_fits(kvplan: Run) -> None:
    ran = kvplan("recommend", "qwen3-8b", "--gpu", "any", "--concurrency", "99999999", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert "no node of the catalogue serves this for certain" in ran.err


@pytest.mark.parametrize(
    ("words", "model", "gpu"),
    [
        pytest.param((), "qwen3-8b", "m4-max-128", id="shared-memory"),
        pytest.param((), "qwen3-8b", "p40", id="old"),
        pytest.param((), "qwen3-8b", "arc-b580", id="intel"),
        pytest.param((), "qwen3-8b", "rtx-4090+rtx-3060-12", id="unequal"),
        pytest.param((), "qwen3-32b", "rtx-4090", id="small"),
        pytest.param(("--engine", "llama.cpp"), "qwen3-8b", "h100-sxm", id="asked-for"),
    ],
)
def test_llamacpp_is_chosen(kvplan: Run, words: tuple[str, ...], model: str, gpu: str) -> None:
    assert answer(kvplan, model, "--gpu", gpu, *words)["proposals"][0]["engine"] == "llama.cpp"


def test_a_pasted_command_keeps_its_words(kvplan: Run) -> None:
    words = ("--gpu", "l4", "--", "docker", "run", "--gpus", "all", "vllm/vllm-openai:v0.19.0", "--model", "qwen3-8b", "--port", "9000")
    first = answer(kvplan, *words, "--max-model-len=32768")["proposals"][0]
    assert first["version"] == "0.19.0"
    assert first["command"][:-1] == [*words[3:]]
    assert first["command"][-1].startswith("--max-model-len=")
    assert [change["flag"] for change in first["changed_flags"]] == ["--max-model-len"]
    assert first["changed_flags"][0]["from"] == "32768"
    assert first["changed_flags"][0]["effect_bytes"] < 0


def test_a_command_that_fits_is_left_alone(kvplan: Run) -> None:
    words = ("vllm", "serve", "qwen3-8b", "--max-model-len", "4096", "--max-num-seqs", "2")
    ran = kvplan("recommend", "--gpu", "l4", "--", *words)
    assert f"1. weights as stored, 16-bit cache, 4,096 tokens × 1 (up to 2 at once)\n   {' '.join(words)}\n" in ran.out
    assert "as it is: nothing to change" in ran.out


def test_a_goal_improves_a_command_that_fits(kvplan: Run) -> None:
    words = ("--", "vllm", "serve", "qwen3-8b", "--max-model-len", "8192")
    first = answer(kvplan, "--gpu", "h100-sxm", "--goal", "context", *words)["proposals"][0]
    assert first["command"] == ["vllm", "serve", "qwen3-8b", "--max-model-len", "40960"]


def test_quality_keeps_the_cache_in_16_bits(kvplan: Run) -> None:
    found = answer(kvplan, "llama-3.1-8b", "--gpu", "rtx-3060-12", "--goal", "quality")["proposals"]
    assert {one["plan"]["cache"] for one in found} == {"auto"}
    bits = [one["checkpoint"]["bits"] for one in found]
    assert bits == sorted(bits, reverse=True)


def test_keep(kvplan: Run) -> None:
    words = ("--", "vllm", "serve", "qwen3-8b", "--max-model-len", "32768")
    found = answer(kvplan, "--gpu", "l4", "--keep", "max-model-len,--kv-cache-dtype", *words)["proposals"]
    assert {(one["plan"]["ctx_tokens"], one["plan"]["cache"]) for one in found} == {(32768, "auto")}
    assert "--keep max-length: nothing that a search would turn on vllm" in refused(
        kvplan, "recommend", "qwen3-8b", "--gpu", "l4", "--engine", "vllm", "--keep", "max-length"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("qwen3-8b",), "no GPU was named, and none is attached", id="no-gpu"),
        pytest.param(("qwen3-8b", "--gpu", "none"), "of what size is the host's memory?", id="no-ram"),
        pytest.param(("--gpu", "l4"), "no MODEL was named", id="no-model"),
        pytest.param(("qwen3-8b", "--gpu", "l4", "--ctx", "1M"), "was made for 40,960 positions", id="too-long"),
        pytest.param(("qwen3-8b", "--gpu", "l4", "--goal", "speed"), "--goal", id="no-such-goal"),
        pytest.param(("qwen3-8b", "--gpu", "l9"), "unknown GPU 'l9'", id="no-such-gpu"),
    ],
)
def test_wrong_requests(kvplan: Run, words: tuple[str, ...], said: str) -> None:
    assert said in refused(kvplan, "recommend", *words)


def test_engines_without_settings_to_search() -> None:
    with pytest.raises(UnavailableError, match="no settings of slow-engine") as problem:
        dialect("slow-engine")
    assert problem.value.hint == "say --engine with one of: llama.cpp, ollama, transformers, vllm"


def test_transformers_runs_what_bitsandbytes_makes_while_loading(kvplan: Run) -> None:
    first = answer(kvplan, "llama-3.1-70b", "--gpu", "a100-80", "--engine", "transformers")["proposals"][0]
    assert first["command"] == ["transformers", "llama-3.1-70b:bnb_8bit"]
    assert not first["needs_checkpoint"]
    ran = kvplan("recommend", "llama-3.1-70b", "--gpu", "a100-80", "--engine", "transformers")
    assert "quantization_config=BitsAndBytesConfig(load_in_8bit=True)" in ran.out


def test_of_a_transformers_run_the_attention_changes_first(kvplan: Run) -> None:
    found = answer(kvplan, "--gpu", "l4", "--ctx", "8k", "--", "transformers", "qwen3-8b", "attn_implementation=eager")["proposals"][0]
    assert found["command"] == ["transformers", "qwen3-8b", "attn_implementation=sdpa"]
    assert [(change["flag"], change["from"], change["to"]) for change in found["changed_flags"]] == [
        ("attn_implementation", "eager", "sdpa")
    ]


def test_ollama_says_sizes_in_variables_and_keeps_words_that_are_there(kvplan: Run) -> None:
    first = answer(kvplan, "qwen3-8b", "--gpu", "l4", "--engine", "ollama")["proposals"][0]
    assert first["command"][-3:] == ["ollama", "run", "qwen3-8b:bf16"]
    assert {word.partition("=")[0] for word in first["command"][:-3]} == {"OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL"}
    pasted = ("docker", "run", "-e", "OLLAMA_CONTEXT_LENGTH=24576", "ollama/ollama:0.34.2", "ollama", "run", "qwen3-8b:q8_0")
    kept = ("--gpu", "rtx-3060-12", "--ctx", "24576", "--keep", "weights,num_gpu")
    assert answer(kvplan, *kept, "--", *pasted)["proposals"][0]["command"] == [
        *pasted[:2], "-e", "OLLAMA_KV_CACHE_TYPE=q8_0", *pasted[2:]
    ]  # fmt: skip


def test_a_processor_alone_gets_fewer_bits_unless_quality_is_the_goal(kvplan: Run) -> None:
    host = ("qwen3-8b", "--gpu", "none", "--ram", "64GiB")
    assert answer(kvplan, *host)["proposals"][0]["command"][2] == "qwen3-8b:q6_k"
    assert answer(kvplan, *host, "--goal", "quality")["proposals"][0]["command"][2] == "qwen3-8b:bf16"


def test_any_gpu(kvplan: Run) -> None:
    found = answer(kvplan, "llama-3.1-70b", "--gpu", "any", "--ctx", "8k", "--concurrency", "4")
    nodes = [(one["device"]["id"], one["device"]["n_devices"]) for one in found["proposals"]]
    assert len(nodes) == len(set(nodes))
    assert all(one["plan"]["ctx_tokens"] == 8192 and one["plan"]["sequences"] >= 4 for one in found["proposals"])
    ran = kvplan("recommend", "llama-3.1-70b", "--gpu", "any", "--ctx", "8k", "--concurrency", "4")
    assert ran.out.startswith("llama-3.1-70b on the smallest nodes that serve it\n")


def test_prices(kvplan: Run, tmp_path: Path) -> None:
    table = tmp_path / "prices.tsv"
    table.write_text("gpu\tprice\nl4\t0.70\nh100-sxm\t2.50\nA10G\t1.10\n")
    found = answer(kvplan, "qwen3-8b", "--gpu", "any", "--price", str(table))["proposals"]
    assert {one["device"]["id"] for one in found} <= {"l4", "a10g", "h100-sxm"}
    costs = [one["cost_per_million_tokens"] for one in found]
    assert None not in costs
    assert costs == sorted(costs)
    listed = tmp_path / "prices.yaml"
    listed.write_text("l4: 0.70\nh100-sxm: 2.50\na10g: 1.10\n")
    assert answer(kvplan, "qwen3-8b", "--gpu", "any", "--price", str(listed))["proposals"] == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("l4\tcheap\n", "l4: expected a price for an hour, found 'cheap'", id="word"),
        pytest.param("l4\t-1\n", "expected a price for an hour, found '-1'", id="negative"),
        pytest.param("l4 0.7\n", "expected GPU and price with a tab between, found 'l4 0.7'", id="no-tab"),
        pytest.param("nothing\t1\n", "unknown GPU 'nothing'", id="no-such-gpu"),
        pytest.param("# none\n", "no prices in it", id="empty"),
    ],
)
def test_bad_prices(kvplan: Run, tmp_path: Path, text: str, said: str) -> None:
    table = tmp_path / "prices.tsv"
    table.write_text(text)
    assert said in refused(kvplan, "recommend", "qwen3-8b", "--gpu", "any", "--price", str(table))


def test_prices_choose_among_cards(kvplan: Run, tmp_path: Path) -> None:
    table = tmp_path / "prices.tsv"
    table.write_text("l4\t0.7\n")
    assert "say --gpu any" in refused(kvplan, "recommend", "qwen3-8b", "--gpu", "l4", "--price", str(table))


def test_a_gguf_file_is_run_as_it_lies(kvplan: Run, tmp_path: Path) -> None:
    head, n_data = header(llama(), llama_tensors())
    path = tmp_path / "small-Q4_K.gguf"
    path.write_bytes(head + bytes(n_data))
    found = answer(kvplan, str(path), "--gpu", "rtx-3060-12")["proposals"]
    assert {(one["engine"], one["plan"]["weights"], one["needs_checkpoint"]) for one in found} == {("llama.cpp", "stored", False)}
    assert found[0]["command"][:3] == ["llama-server", "-m", str(path)]


def test_a_wasteful_command_stays_first_and_what_it_gives_away_is_said(kvplan: Run) -> None:
    words = ("vllm", "serve", "qwen3-8b", "--max-model-len", "4096", "--max-num-seqs", "8", "--enforce-eager", "--kv-cache-dtype", "fp8")
    ran = kvplan("recommend", "--gpu", "h100-sxm", "--", *words)
    first, *others = [line.strip() for line in ran.out.splitlines() if line.startswith("   vllm serve")]
    assert first == " ".join(words)
    assert any("--enforce-eager" not in other and "--kv-cache-dtype fp8" not in other for other in others)
    assert "note[KV436]" in ran.out
    kept = kvplan("recommend", "--gpu", "h100-sxm", "--keep", "enforce-eager,kv-cache-dtype", "--", *words)
    assert kept.out.count("   vllm serve") == 1
    assert "KV436" not in kept.out


def test_prices_ask_for_the_cheapest_token_and_name_each_card_once(kvplan: Run, tmp_path: Path) -> None:
    prices = tmp_path / "prices.tsv"
    prices.write_text("h100-sxm\t2.5\nl4\t0.7\n")
    ran = kvplan("recommend", "qwen3-8b", "--gpu", "any", "--price", str(prices), "--json")
    found = json.loads(ran.out)
    assert found["goal"] == "cost"
    costs = [proposal["cost_per_million_tokens"] for proposal in found["proposals"]]
    assert len(costs) == 2
    assert costs == sorted(costs)


def test_flags_of_the_first_engine_may_be_kept(kvplan: Run) -> None:
    assert kvplan("recommend", "qwen3-8b", "--gpu", "l4", "--keep", "max-model-len,quantization").code == 0


def test_a_model_beside_a_command_leaves_its_words(kvplan: Run) -> None:
    ran = kvplan("recommend", "qwen3-8b", "--gpu", "l4", "--", "vllm", "serve", "/models/x", "--max-model-len", "40960")
    assert "vllm serve /models/x --max-model-len 7168\n" in ran.out


def test_as_many_cards_as_a_command_takes_are_looked_for(kvplan: Run) -> None:
    ran = kvplan("recommend", "--gpu", "any", "--", "vllm", "serve", "llama-3.1-70b", "-tp", "4", "--max-model-len", "8192")
    assert ran.code == 0
    assert "1. 4 × " in ran.out


def test_what_is_in_4_bits_already_stays_as_it_is(kvplan: Run) -> None:
    ran = kvplan("recommend", "gpt-oss-20b", "--gpu", "m4-max-128")
    assert "1. mxfp4_moe weights" in ran.out


def test_no_node_is_tried_that_cannot_hold_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Qwen3-8B keeps 2 · 8 · 128 elements of a token in each of 36 layers: 2,048 tokens of 100,000 sequences are 6.9 TiB in 4 bits, more
    than any eight cards have; those of 1,000 are 70.3 GiB, beside at least 3.3 GiB of weights."""
    tried: list[int] = []

    def served(_: Request, n: int, gpu: Gpu, __: float | None) -> tuple[()]:
        tried.append(n * gpu.cuda_bytes)
        return ()

    monkeypatch.setattr(anywhere, "_served", served)
    assert not anywhere.places(Request(Options(model="qwen3-8b", batch="100000", ctx="2048")))
    assert not tried
    assert not anywhere.places(Request(Options(model="qwen3-8b", batch="1000", ctx="2048")))
    least = 1000 * 2048 * 36 * 2048 * 4 // 8 + 8_190_735_360 * 3.5 / 8
    assert min(tried) > least
    assert any(n_bytes < 1.2 * least for n_bytes in tried)


def test_layers_on_the_host_say_what_they_take_there(kvplan: Run) -> None:
    shown = kvplan("recommend", "qwen3-32b", "--gpu", "rtx-3060-12", "--ctx", "8k").out
    assert "KV431" in kvplan("recommend", "qwen3-32b", "--gpu", "rtx-3060-12", "--ctx", "8k", "--json").out
    assert re.search(r"left beyond the upper bound; \d+\.\d\d GiB of the host's memory\n", shown)
