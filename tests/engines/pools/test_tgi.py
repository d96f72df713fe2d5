"""text-generation-inference: budgets by version, launcher's defaults, what it refuses."""

import shlex

import pytest

from kvplan.core.device import Node
from kvplan.core.errors import RequestError
from kvplan.core.mixers.rwkv import Rwkv
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.tgi.engine import ENGINE
from kvplan.engines.tgi.plan import plan
from kvplan.engines.tgi.rules import rules_for
from kvplan.engines.tgi.settings import Settings
from tests.engines.pools.asking import GIB, LATENT, LLAMA, NOWHERE, asked, card, large, rules

LOAD = Workload(4096, 1, 4095)
RUN = "text-generation-launcher --model-id llama-3.1-8b"


def settled(flags: str, version: str = "3.3.7", model: ModelSpec = LLAMA, node: Node | None = None) -> Settings:
    parsed = ENGINE.parse(("text-generation-launcher", "--model-id", "m", *shlex.split(flags)), {}, version)
    return ENGINE.resolve(parsed, LOAD, model, card("h100-sxm") if node is None else node, version)


def test_a_public_log_lies_inside_the_bounds() -> None:
    # huggingface/text-generation-inference#2744: TGI 2.4, Llama-3.1-70B on 2 × A100 80GB, --max-batch-prefill-tokens 10049:
    # "Setting max batch total tokens to 30816"
    command = "text-generation-launcher --model-id llama-3.1-70b --num-shard 2 --max-batch-prefill-tokens 10049"
    found = asked(command, gpu="a100-80:2", engine="tgi@2.4.0")
    assert found.capacity is not None
    assert found.capacity.kv_tokens is not None
    assert found.capacity.kv_tokens.low <= 30_816 <= found.capacity.kv_tokens.high
    assert found.kv.bytes_per_token == 163_840
    assert found.predicted_log == (f"Setting max batch total tokens to {found.capacity.kv_tokens.best}",)


@pytest.mark.parametrize(
    ("version", "kept"),
    [("1.4.5", 0.95), ("2.4.0", 0.90)],
)
def test_budgets_of_what_is_left(version: str, kept: float) -> None:
    node = card("h100-sxm")
    (rank,) = plan(LLAMA, settled("--cuda-memory-fraction 0.8", version), node).ranks
    taken = sum(entry.size.best for entry in rank.beside if entry.term != "graphs")
    assert rank.budget is not None
    assert rank.budget.best == pytest.approx((0.8 * node.gpus[0].cuda_bytes - taken) * kept, rel=1e-6)


@pytest.mark.parametrize(("version", "kept"), [("3.0.0", 0.95), ("3.1.1", 0.93), ("3.3.7", 0.90)])
def test_budgets_of_the_whole(version: str, kept: float) -> None:
    node = card("h100-sxm")
    (rank,) = plan(LLAMA, settled("", version), node).ranks
    taken = sum(entry.size.best for entry in rank.beside if entry.term != "graphs")
    assert rank.budget is not None
    assert rank.budget.best == pytest.approx(node.gpus[0].cuda_bytes * kept - taken, rel=1e-6)


@pytest.mark.parametrize(
    ("version", "flags", "limits"),
    [
        ("1.4.5", "", (2047, 2048, 2097)),
        ("2.0.4", "", (4095, 4096, 4145)),
        ("2.0.4", "--max-input-length 1000 --max-total-tokens 2000", (1000, 2000, 1050)),
        ("2.4.1", "", (None, None, 4096)),
        ("3.3.7", "--max-input-tokens 1000 --max-total-tokens 2000", (1000, 2000, 4096)),
        ("3.3.7", "--max-batch-prefill-tokens 512", (None, None, 512)),
    ],
)
def test_lengths(version: str, flags: str, limits: tuple[int | None, int | None, int]) -> None:
    found = settled(flags, version)
    assert (found.max_input_tokens, found.max_total_tokens, found.max_batch_prefill_tokens) == limits


def test_shards() -> None:
    assert settled("", node=card("h100-sxm", 4)).num_shard == 4
    assert settled("--sharded false", node=card("h100-sxm", 4)).num_shard == 1
    assert settled("--num-shard 2", node=card("h100-sxm", 4)).num_shard == 2
    env = {"NUM_SHARD": "8", "MODEL_ID": "m", "QUANTIZE": "eetq", "UNHEARD_OF": "1"}
    parsed = ENGINE.parse(("docker", "run", "ghcr.io/huggingface/text-generation-inference:2.3.1"), env, "")
    assert (parsed.version, parsed.model) == ("2.3.1", "m")
    assert (settled("").num_shard, ENGINE.resolve(parsed, LOAD, LLAMA, NOWHERE, "2.3.1").num_shard) == (1, 8)


def test_types() -> None:
    assert settled("--kv-cache-dtype fp8_e5m2").kv_cache_dtype == "float8_e5m2"
    assert settled("--kv-cache-dtype fp8").kv_cache_dtype == "float8_e4m3fn"
    assert settled("--dtype float16").dtype == "float16"
    assert settled("", model=LLAMA._replace(stored_dtype="float32")).dtype == "float16"
    assert settled("", model=LLAMA._replace(quantization="awq")).quantization == "awq"
    eight, whole = (plan(LLAMA, settled(flags), NOWHERE).ranks[0].beside[0].size.best for flags in ("--quantize eetq", ""))
    assert eight / whole == pytest.approx(0.57, abs=0.02)  # embedding and head stay in 16 bits


def test_latents_are_expanded() -> None:
    # text-generation-inference 3.3.7 flash_deepseek_v2_modeling.py, head_pad_size: 16 heads · 2 · 192 · 2 B in 27 layers
    (rank,) = plan(LATENT, settled("", model=LATENT), NOWHERE).ranks
    assert sum(cell.n_bytes for cell in rank.cells.tokens) == 27 * 16 * 2 * 192 * 2


def test_graphs() -> None:
    assert settled("").cuda_graphs == (1, 2, 4, 8, 16, 32)
    assert settled("--cuda-graphs 0").cuda_graphs == ()
    assert settled("--cuda-graphs 1,4").cuda_graphs == (1, 4)
    assert settled("--quantize bitsandbytes").cuda_graphs == ()
    assert asked(f"{RUN} --cuda-graphs 0").performance is not None


@pytest.mark.parametrize(
    ("command", "gpu", "rule"),
    [
        (f"{RUN} --cuda-memory-fraction 0.1", "h100-sxm", "KV350"),
        (f"{RUN} --num-shard 3", "h100-sxm:3", "KV352"),
        (f"{RUN} --num-shard 2", "h100-sxm", "KV353"),
        ("text-generation-launcher --model-id llama-3.1-70b", "l4", "KV354"),
        ("text-generation-launcher --model-id granite-4.0-h-tiny", "l40s", "KV355"),
        (f"{RUN} --max-input-tokens 10 --max-total-tokens 10", "h100-sxm", "KV358"),
        (f"{RUN} --max-input-tokens 10 --max-total-tokens 131072 --cuda-memory-fraction 0.3", "h100-sxm", "KV359"),
        (f"{RUN} --lora-adapters x", "h100-sxm", "KV211"),
        (f"{RUN} --max-total-token 5", "h100-sxm", "KV210"),
    ],
)
def test_what_it_says_no_to(command: str, gpu: str, rule: str) -> None:
    assert rule in rules(asked(command, gpu=gpu))


def test_layers_that_no_server_runs() -> None:
    layer = LLAMA.runs[0].layer._replace(mixers=(Rwkv(4096, 64, 64),))
    strange = LLAMA._replace(runs=(LLAMA.runs[0]._replace(layer=layer),))
    assert {refusal.rule for refusal in plan(strange, settled("", model=strange), NOWHERE).refusals} == {"KV355"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--dtype float32", "dtype=float32: TGI runs in float16 or bfloat16"),
        ("--kv-cache-dtype int8", "kv-cache-dtype=int8: TGI keeps no such cache"),
        ("--quantize int3", "--quantize: invalid value 'int3'"),
        ("--cuda-graphs x", "--cuda-graphs: expected numbers with commas, found 'x'"),
        ("--sharded maybe", "--sharded: expected true or false, found 'maybe'"),
    ],
)
def test_values_that_it_never_takes(flags: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        settled(flags)


@pytest.mark.parametrize(
    "flags",
    [
        "--num-shard 2 --max-input-tokens 1000 --max-total-tokens 2000 --max-batch-size 9 --cuda-graphs 0",
        "--quantize fp8 --kv-cache-dtype fp8_e4m3fn --cuda-memory-fraction 0.5 --max-concurrent-requests 7 --dtype float16",
    ],
)
def test_a_command_gives_its_settings_back(flags: str) -> None:
    settings = settled(flags)
    again = ENGINE.parse(ENGINE.command(settings), {}, "3.3.7")
    assert ENGINE.resolve(again, LOAD, LLAMA, large(2), "3.3.7") == settings


def test_newer_versions() -> None:
    assert rules_for("4.0.0")[1]
    assert "KV320" in rules(asked(RUN, engine="tgi@4.0.0"))
    with pytest.raises(RequestError, match=r"tgi 1\.0\.0 is older"):
        rules_for("1.0.0")
    assert asked(RUN, gpu=None).capacity is None
    assert asked(RUN).needed.best > 14 * GIB
