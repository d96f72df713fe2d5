"""SGLang: figures of public logs, its defaults by card and version, its flags and refusals."""

import shlex

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Rank
from kvplan.core.workload import Workload
from kvplan.engines.sglang import plan
from kvplan.engines.sglang.defaults import Asked, chosen, fraction, n_prefill_graphs
from kvplan.engines.sglang.engine import ENGINE
from kvplan.engines.sglang.rules import RULES, rules_for
from kvplan.engines.sglang.settings import Settings
from tests.engines.pools.asking import GEMMA, GIB, HYBRID, LATENT, LLAMA, SPARSE, WINDOWED, asked, card, large, rules

LOAD = Workload(4096, 1, 4095)


def settled(flags: str, version: str = "0.5.23", model: ModelSpec = LLAMA, node: Node | None = None) -> Settings:
    parsed = ENGINE.parse(("sglang", "serve", "--model-path", "m", *shlex.split(flags)), {}, version)
    return ENGINE.resolve(parsed, LOAD, model, card("h100-sxm") if node is None else node, version)


def rank(flags: str, version: str, model: ModelSpec, node: Node | None = None) -> Rank:
    node = large(4) if node is None else node
    return plan.plan(model, settled(flags, version, model, node), node).ranks[0]


PUBLIC = (
    # model, version, flags, tokens, printed K and V in GiB; sources: the rows sgl-* of public logs
    pytest.param("qwq-32b", "0.4.3", "--tp 4", 46_611, 1.42, 1.42, id="QwQ-32B on 4 × 24 GB (Mar 2025)"),
    pytest.param(
        "nemotron-3-nano-30b-a3b", "0.5.21", "--tp 4 --kv-cache-dtype fp8_e4m3", 19_644_177, 14.05, 14.05, id="Nemotron-3 TP4 0.5.21"
    ),
    pytest.param("nemotron-3-nano-30b-a3b", "0.5.13", "--tp 4", 1_557_504, 2.23, 2.23, id="NemotronH on 4 Intel cards"),
    pytest.param("glm-5", "0.5.18", "--tp 4 --kv-cache-dtype fp8_e4m3", 131_072, 7.51, 0.0, id="GLM-5 fp8 on 4 GB10"),
)


@pytest.mark.parametrize(("name", "version", "flags", "tokens", "k_gib", "v_gib"), PUBLIC)
def test_printed_sizes(name: str, version: str, flags: str, tokens: int, k_gib: float, v_gib: float) -> None:
    found = rank(flags, version, kvplan.load_model(name), large(4, (12, 1)))
    held = tokens + found.pool.spare_tokens
    k = held * sum(cell.k_bytes for cell in found.cells.tokens) / GIB
    v = held * sum(cell.n_bytes - cell.k_bytes for cell in found.cells.tokens) / GIB
    assert k == pytest.approx(k_gib, rel=0.01)
    assert v == pytest.approx(v_gib, rel=0.01)


def test_tokens_of_a_public_log() -> None:
    # 15.54 GiB of weights, 6.09 left: 6.09 − 21.63 · (1 − 0.85) for 46,611 tokens printed
    found = rank("--tp 4", "0.4.3", kvplan.load_model("qwq-32b"))
    assert settled("--tp 4", "0.4.3").mem_fraction_static == 0.85
    assert found.pool.tokens_in(int((6.09 - 21.63 * 0.15) * GIB)) == pytest.approx(46_611, rel=0.001)


def test_two_pools_of_a_public_log() -> None:
    # sgl-project/sglang#18039: full_layer_tokens 375360, swa_layer_tokens 300288, K 8.38 and V 5.59 of the latter
    found = rank("--tp 4 --page-size 64 --mem-fraction-static 0.7", "0.5.9", kvplan.load_model("mimo-v2-flash"))
    assert found.pool.parts[1].tokens(375_360, 64) == 300_288
    windowed = [cell for cell in found.cells.tokens if cell.window_tokens is not None]
    assert (300_288 + 64) * sum(cell.k_bytes for cell in windowed) / GIB == pytest.approx(8.38, rel=0.001)
    assert (300_288 + 64) * sum(cell.n_bytes - cell.k_bytes for cell in windowed) / GIB == pytest.approx(5.59, rel=0.001)


def test_states_of_a_public_log() -> None:
    # SGLang 0.5.21, Nemotron-3-Nano TP4: 2,211 slots take 0.44 + 24.84 GiB where keys and values take 28.1
    pool = rank("--tp 4 --kv-cache-dtype fp8_e4m3", "0.5.21", HYBRID).pool
    assert pool.state_bytes(2211) / GIB == pytest.approx(0.44 + 24.84, abs=0.011)
    assert pool.slots_in(int((0.44 + 24.84 + 28.1) * GIB)) == 2211
    eight = rank("--tp 4 --max-running-requests 8 --disable-radix-cache", "0.5.13", HYBRID).pool
    assert (eight.slots_in(0), eight.states and eight.states.n_each) == (8, 1)


@pytest.mark.parametrize(
    ("version", "mib", "tp", "expected"),
    [
        ("0.4.3", 81_559, 1, 0.88),
        ("0.4.3", 81_559, 16, 0.79),
        ("0.4.7", 24_564, 1, 0.879),  # 2.9 GiB
        ("0.5.2", 81_559, 8, 0.83),  # 13.5 GiB
        ("0.5.2", 143_771, 1, 0.911),  # 12.5 GiB
        ("0.5.2", 183_359, 8, 0.821),  # 32 GiB
        ("0.5.3", 24_564, 1, 0.848),  # 512 + 3072 + 32 + 128 MiB
        ("0.5.6", 81_559, 1, 0.835),  # 512 + 12288 + 512 + 128 MiB
        ("0.5.23", 46_068, 1, 0.843),  # 512 + 6144 + 64 + 128 MiB, 50 sizes of prompts at 8
        ("0.5.6", None, 1, 0.88),
    ],
)
def test_the_share_that_it_chooses(version: str, mib: int | None, tp: int, expected: float) -> None:
    found, _ = rules_for(version)
    row = chosen(found, mib, tp)
    assert fraction(found, mib, Asked(tp, 1, 1, row.chunk_tokens, row.largest_batch, None), LLAMA) == pytest.approx(expected, abs=0.002)


def test_what_lowers_the_share() -> None:
    old, new = rules_for("0.5.6")[0], rules_for("0.5.13")[0]
    base = Asked(8, 1, 1, 8192, 512, None)
    plain = fraction(old, 81_559, base, LLAMA)
    assert fraction(old, 81_559, base._replace(attention_dp=8), LLAMA) < plain
    assert fraction(old, 81_559, base._replace(attention_dp=8, largest_batch=256), LLAMA) < plain
    assert fraction(old, 81_559, base._replace(drafts="EAGLE"), LLAMA) == pytest.approx(plain - 2048 / 81_559, abs=0.001)
    assert fraction(old, 81_559, base._replace(drafts="STANDALONE"), LLAMA) == pytest.approx(plain - 6144 / 81_559, abs=0.001)
    assert fraction(old, 81_559, base._replace(drafts="NGRAM"), LLAMA) == plain
    assert fraction(old, 81_559, base._replace(chunk_tokens=-1), LLAMA) < plain
    assert fraction(old, 81_559, base, kvplan.load_model("gemma-3-4b")) == pytest.approx(plain * 0.95, abs=0.001)
    assert fraction(new, 46_068, base._replace(chunk_tokens=2048), LATENT) < fraction(old, 46_068, base._replace(chunk_tokens=2048), LATENT)
    assert fraction(rules_for("0.4.9")[0], 81_559, base._replace(attention_dp=8), LLAMA) == pytest.approx(0.78, abs=0.002)
    assert n_prefill_graphs(8192) == 8 + 14 + 8 + 8 + 12 + 8


def test_each_version_has_rules() -> None:
    assert [found.since for found in RULES] == sorted((found.since for found in RULES), key=lambda text: tuple(map(int, text.split("."))))
    assert rules_for("0.5.99")[1] is False
    assert rules_for("0.6.0")[1] is True
    with pytest.raises(RequestError, match=r"sglang 0\.3\.0 is older"):
        rules_for("0.3.0")
    assert "KV320" in rules(asked("sglang serve --model-path qwen3-8b", engine="sglang@0.6.0"))


@pytest.mark.parametrize(
    ("model", "version", "capability", "flags", "kept"),
    [
        (SPARSE, "0.5.9", (9, 0), "", (576 * 2 + 132, "bfloat16")),
        (SPARSE, "0.5.9", (9, 0), "--kv-cache-dtype fp8_e4m3", (656 + 132, "float8_e4m3fn")),
        (SPARSE, "0.5.9", (10, 0), "", (576 + 132, "float8_e4m3fn")),
        (SPARSE, "0.5.6", (10, 0), "", (656 + 132, "float8_e4m3fn")),
        (SPARSE, "0.5.1", (9, 0), "", (576 * 2, "bfloat16")),
        (LATENT, "0.5.9", (9, 0), "", (576 * 2, "bfloat16")),
        (LLAMA, "0.5.9", (9, 0), "--kv-cache-dtype fp8_e5m2", (2 * 8 * 128, "float8_e5m2")),
        (LLAMA, "0.5.9", (9, 0), "--kv-cache-dtype fp4_e2m1", (2 * 8 * (64 + 8), "float4_e2m1")),
        (LLAMA, "0.5.9", (9, 0), "--dtype float32", (2 * 8 * 128 * 4, "float32")),
        (LLAMA, "0.5.9", (9, 0), "--kv-cache-dtype float8_e4m3fn", (2 * 8 * 128, "float8_e4m3fn")),
    ],
)
def test_a_token_of_one_layer(model: ModelSpec, version: str, capability: tuple[int, int], flags: str, kept: tuple[int, str]) -> None:
    node = large(1, capability)
    found = rank(flags, version, model, node)
    assert (found.cells.tokens[0].n_bytes, settled(flags, version, model, node).kv_cache_dtype) == kept


def test_a_checkpoint_asks_for_its_cache() -> None:
    assert settled("", model=LLAMA._replace(kv_dtype="fp8")).kv_cache_dtype == "float8_e4m3fn"
    assert settled("", model=LLAMA._replace(stored_dtype="float32")).dtype == "bfloat16"


def test_windows_have_a_pool_of_their_own_in_some_classes() -> None:
    assert len(rank("", "0.5.9", WINDOWED).pool.parts) == 2
    assert len(rank("--disable-hybrid-swa-memory", "0.5.9", WINDOWED).pool.parts) == 1
    assert len(rank("", "0.5.6", WINDOWED).pool.parts) == 1
    assert len(rank("", "0.5.23", GEMMA).pool.parts) == 1


def test_lines_of_the_log() -> None:
    budget = "--max-total-tokens 131072 --mem-fraction-static 0.8"
    (line,) = asked(f"sglang serve --model-path llama-3.1-8b {budget}").predicted_log
    assert line == "KV Cache is allocated. #tokens: 131072, K size: 8.00 GB, V size: 8.00 GB"
    (latent,) = asked(f"sglang serve --model-path deepseek-v2-lite {budget}").predicted_log
    assert latent == "KV Cache is allocated. #tokens: 131072, KV size: 3.80 GB"
    states, _ = asked("sglang serve --model-path granite-4.0-h-tiny").predicted_log
    assert states.startswith("Mamba Cache is allocated. max_mamba_cache_size: ")
    assert len(asked("sglang serve --model-path gpt-oss-20b").predicted_log) == 2
    assert asked("sglang serve --model-path llama-3.1-8b", gpu=None).predicted_log == ()


def test_attention_by_sequences() -> None:
    found = asked("sglang serve --model-path qwen3-32b --tp 8 --dp 8 --enable-dp-attention", gpu="h100-sxm:8")
    assert (found.settings["attention_dp"], found.settings["dp"], found.kv.bytes_per_token) == (8, 1, 64 * 2 * 8 * 128 * 2)
    replicas = asked("sglang serve --model-path qwen3-8b --tp 2 --dp 4", gpu="h100-sxm:8")
    assert (replicas.settings["dp"], replicas.settings["tp"]) == (4, 2)
    stages = asked("sglang serve --model-path qwen3-8b --pp-size 2", gpu="l4:2")
    assert stages.places[0].needed != stages.places[1].needed


def test_kvplans_own_options() -> None:
    found = kvplan.estimate("qwen3-32b", engine="sglang", gpu="h100-sxm", gpus=4, kv_dtype="fp8_e4m3")
    assert (found.settings["tp"], found.settings["kv_cache_dtype"]) == (4, "float8_e4m3fn")
    assert found.performance is not None
    drafted = asked("sglang serve --model-path qwen3-8b --speculative-algorithm EAGLE3")
    assert drafted.performance is None
    assert {one.id for one in drafted.not_modeled} == {"workspaces", "drafter"}
    assert "encoder" in {one.id for one in asked("sglang serve --model-path gemma-3-4b").not_modeled}
