"""A whole deployment: ledger, capacity, words, and what of a GPU is left."""

import pytest

import kvplan
from kvplan.core.device import Node, budget_node
from kvplan.core.ledger import ZERO, total
from kvplan.core.mixers import RgLru
from kvplan.core.model import Layer, LayerRun, ModelSpec
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.vllm.deployment import Deployment
from kvplan.engines.vllm.engine import ENGINE
from kvplan.engines.vllm.settings import Lora, Speculative
from tests.engines.vllm.resolving import GEMMA, HYBRID, LATENT, LLAMA, LOAD, MIXTRAL, NOWHERE, WHISPER, card, settled

POOL = "--kv-cache-memory-bytes 42949672960"
H100 = card("h100-sxm")
MISTRAL = kvplan.load_model("mistral-7b-v0.1")


def deployed(flags: str = "", version: str = "0.33.0", model: ModelSpec = LLAMA, node: Node = H100) -> Deployment:
    return Deployment(model, settled(flags, version, model, node), node)


def texts(found: Deployment) -> list[str]:
    return [refusal.text for refusal in found.refusals]


def test_without_a_gpu_the_pool_is_what_the_workload_takes() -> None:
    found = deployed(node=NOWHERE)
    (pool,) = [entry for entry in found.entries(LOAD) if entry.term == "kv_cache"]
    assert pool.size.best == found.kv(LOAD).reserved_bytes == (2 * 256 + 1) * 8 * 2**20  # 4096 tokens in blocks of 16, a null block
    assert found.capacity(LOAD) is None
    assert found.log_lines() == ()
    assert found.refusals == ()


def test_with_a_gpu_the_pool_is_what_the_budget_leaves() -> None:
    found = deployed()
    held = total(entry.size for entry in found.entries(LOAD) if entry.listed)
    share = H100.gpus[0].cuda_bytes * 0.92
    assert held.best == pytest.approx(share + 0.51 * GIB, rel=0.01)  # the context lies outside the share
    assert found.need_bytes("gpu0", LOAD).best < held.best
    assert found.need_bytes("gpu7", LOAD) == ZERO
    assert found.phases(LOAD).load_peak_bytes == 13_477_880_320


def test_ranks_that_are_alike_are_listed_once() -> None:
    found = deployed("-tp 2 -pp 2", node=card("h100-sxm", 4))
    entries = found.entries(LOAD)
    assert {entry.place for entry in entries} == {"gpu0", "gpu1", "gpu2", "gpu3"}
    assert len({entry.place for entry in entries if entry.listed}) == 1


def test_capacity_is_filled_also_where_the_cache_is_too_small() -> None:
    found = deployed("--kv-cache-memory-bytes 1073741824")
    capacity = found.capacity(LOAD)
    assert capacity is not None
    assert (capacity.n_blocks, capacity.max_ctx_tokens, capacity.max_batch) == (128, 2032, 0)
    assert [refusal.at for refusal in found.refusals] == ["kv_check"]
    assert found.log_lines() == ()


def test_a_pool_without_blocks() -> None:
    assert texts(deployed("--kv-cache-memory-bytes 1048576"))[0].startswith("No available memory for the cache blocks.")
    assert texts(deployed("--kv-cache-memory-bytes 1048576 --max-model-len auto"))[0].startswith("Cannot auto-fit max_model_len")


def test_auto_fit_takes_what_fits() -> None:
    short, full = (deployed(f"--kv-cache-memory-bytes {n} --max-model-len -1") for n in (2**30, 2**35))
    assert short.log_lines()[0].startswith("Auto-fit max_model_len: reduced from 4096 to 2032 to fit in available KV cache memory (1.0 GiB")
    assert full.log_lines()[0].startswith("Auto-fit max_model_len: full model context length 4096 fits")
    assert "for 2,032 tokens per request" in short.log_lines()[1]


def test_start_is_refused_where_less_is_free() -> None:
    assert texts(deployed("--gpu-memory-utilization 0.999"))[0].startswith("Free memory on device cuda:0 (78.68/79.19 GiB) on startup")
    large = deployed("--kv-cache-memory-bytes 42949672960 --gpu-memory-utilization 0.5", model=kvplan.load_model("llama-3.1-70b"))
    assert [refusal.at for refusal in large.refusals][:1] == ["load"]


def test_the_budget_may_be_gone() -> None:
    small = budget_node(14 * GIB)
    found = deployed(node=small)
    assert texts(found)[-1].startswith("No available memory for the cache blocks.")
    capacity = found.capacity(LOAD)
    assert capacity is not None
    assert capacity.n_blocks == 0


def test_other_processes_count_at_the_start_alone() -> None:
    shared = H100._replace(used_before_bytes=(40 * GIB,))
    assert texts(deployed(node=shared))[0].startswith("Free memory on device")


def test_attention_free_models_count_sequences() -> None:
    mamba = kvplan.load_model("mamba-codestral-7b")
    capacity = deployed(POOL, model=mamba).capacity(LOAD)
    assert capacity is not None
    assert capacity.kv_tokens is not None
    assert (capacity.n_blocks, capacity.kv_tokens.best, capacity.block_tokens) == (310, 634_880, None)


def test_what_keeps_nothing_has_no_pool() -> None:
    found = deployed(POOL, model=LLAMA._replace(runs=(LayerRun(1, Layer((), (), ())),)))
    capacity = found.capacity(LOAD)
    assert capacity is not None
    assert capacity.kv_tokens is not None
    assert capacity.kv_tokens.best == 0
    assert found.kv(LOAD).groups == ()


def test_findings_and_what_is_left_out() -> None:
    newer = deployed("--cpu-offload-gb 1 --kv-offloading-size 2", "0.99.0")
    assert [finding.rule for finding in newer.findings if finding.rule == "KV320"] == ["KV320"]
    assert {item.id for item in newer.not_modeled} == {"cpu_offload", "kv_offloading"}
    settings = settled()._replace(speculative=Speculative("draft_model", 3, "somewhere"))
    assert [finding.rule for finding in Deployment(LLAMA, settings, H100).findings] == ["KV321"]


@pytest.mark.parametrize(
    ("model", "flags", "rules"),
    [
        pytest.param(LLAMA, "", [], id="plain"),
        pytest.param(GEMMA, "", ["KV322"], id="windows"),
        pytest.param(HYBRID, "--kv-cache-dtype fp8", ["KV322", "KV323"], id="states in a cache of 8 bits"),
        pytest.param(LLAMA, POOL, ["KV324"], id="a given pool"),
        pytest.param(MISTRAL, "", ["KV322"], id="windows alone"),
        pytest.param(LLAMA, "--spec-method mtp --spec-tokens 2", ["KV321"], id="nothing to draft with"),
    ],
)
def test_what_printed_numbers_mean_is_said(model: ModelSpec, flags: str, rules: list[str]) -> None:
    assert [finding.rule for finding in deployed(flags, model=model).findings] == rules


@pytest.mark.parametrize(
    ("architecture", "version", "rules"),
    [
        ("QWenLMHeadModel", "0.24.0", ["KV326"]),
        ("QWenLMHeadModel", "0.23.0", []),
        ("MptForCausalLM", "0.33.0", ["KV326"]),
    ],
)
def test_classes_that_are_gone(architecture: str, version: str, rules: list[str]) -> None:
    model = LLAMA._replace(architecture=architecture)
    assert [finding.rule for finding in deployed(version=version, model=model).findings] == rules


def test_tokens_were_those_of_a_group() -> None:
    (older,) = deployed(version="0.19.0", model=GEMMA).findings
    assert (older.rule, "one group's share" in older.message) == ("KV322", True)
    assert deployed(version="0.19.0", model=MISTRAL).findings == ()


def test_drafters_and_adapters_have_lines_of_their_own() -> None:
    settings = settled()._replace(speculative=Speculative("draft_model", 3, "gemma"), lora=Lora())
    found = Deployment(LLAMA._replace(draft=GEMMA), settings, H100)
    assert {"draft_model", "lora"} <= {entry.term for entry in found.entries(LOAD)}
    deepseek = kvplan.load_model("deepseek-v3")
    copies = [
        entry for entry in deployed("-tp 8", model=deepseek, node=card("h200", 8)).entries(LOAD) if entry.name == "copies for the kernels"
    ]
    assert copies[0].basis == "exact"


@pytest.mark.parametrize(
    "model", [HYBRID, LATENT, MIXTRAL, WHISPER, GEMMA, kvplan.load_model("deepseek-v4-flash")], ids=lambda model: model.id
)
def test_the_cache_never_holds_less_than_the_mathematics(model: ModelSpec) -> None:
    plan = deployed(model=model).kv(Workload(448, 3, 447))
    assert 0 < plan.ideal_bytes <= plan.reserved_bytes
    assert plan.groups


def test_layers_of_a_kind_that_vllm_lacks() -> None:
    model = LLAMA._replace(runs=(LayerRun(1, Layer((RgLru(256, 4),), (), ())), *LLAMA.runs))
    found = Deployment(model, settled(), H100)
    assert "are not supported for now" in texts(found)[0]
    assert found.kv(LOAD).reserved_bytes > 0


def test_the_engine_behind_the_seam() -> None:
    parsed = ENGINE.parse(("vllm", "serve", "m", "--speculative-config", '{"model": "d", "num_speculative_tokens": 2}'), {}, "")
    assert parsed.draft == "d"
    settings = ENGINE.resolve(parsed, LOAD, LLAMA, H100, "0.33.0")
    assert ENGINE.shown(settings)["max_num_seqs"] == 1024
    assert ENGINE.command(settings)[:3] == ("vllm", "serve", "m")
    assert isinstance(ENGINE.deploy(LLAMA, settings, H100), Deployment)
