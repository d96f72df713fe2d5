"""The speed of an estimate: what engines, cards and places make of it."""

import json
from pathlib import Path

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.workload import Workload
from kvplan.estimator import Options, answer, rates, speed
from kvplan.estimator.registry import find_engine
from kvplan.hardware import catalog
from kvplan.perf import Performance
from tests.bench.measured import MAX_LOAD, cases
from tests.bench.throughput import scored
from tests.running import Run


def asked(*command: str, **options: str) -> Performance | None:
    return answer(Options(command=command, **options), elsewhere=False).performance


def known(*command: str, **options: str) -> Performance:
    performance = asked(*command, **options)
    assert performance is not None
    return performance


@pytest.mark.parametrize(
    ("engine", "bounds"),
    [("vllm", (100, 190)), ("transformers", (15, 60)), ("llama.cpp", (50, 120))],
)
def test_one_stream_of_an_8b_on_an_h100(engine: str, bounds: tuple[float, float]) -> None:
    rate = known(model="llama-3.1-8b", engine=engine, gpu="h100-sxm", ctx="2048", prompt="1024").decode_tokens_per_s
    assert bounds[0] < rate.best < bounds[1]


def test_nothing_is_said_of_unknown_hardware() -> None:
    assert asked(model="llama-3.1-8b") is None
    assert asked(model="llama-3.1-8b", budget="80GiB") is None
    assert asked(model="llama-3.1-8b", gpu="mi308x") is None  # no rates published


def test_nothing_is_said_of_what_does_not_run() -> None:
    assert asked(model="llama-3.1-70b", gpu="l4") is None
    assert asked(model="llama-3.1-70b", gpu="l4", engine="vllm") is None


def test_a_pool_bounds_how_many_run_at_once() -> None:
    command = ("vllm", "serve", "llama-3.1-8b", "--max-model-len", "32768")
    few, many = (known(*command, gpu="l40s", batch=batch) for batch in ("2", "64"))
    assert few.of.demand.batch == 2
    assert 2 < many.of.demand.batch < 20


def test_an_engines_own_limit_bounds_it_too() -> None:
    said = known("vllm", "serve", "qwen3-0.6b", "--max-num-seqs", "4", gpu="h100-sxm", batch="4", ctx="1024")
    assert said.of.demand.batch == 4


def test_graphs_off_is_slower() -> None:
    command = ("vllm", "serve", "llama-3.1-8b", "--max-model-len", "4096")
    assert known(*command, "--enforce-eager", gpu="h100-sxm").tpot_s.best > 1.5 * known(*command, gpu="h100-sxm").tpot_s.best


def test_drafting_and_weights_that_travel_are_not_modeled() -> None:
    command = ("vllm", "serve", "qwen3-8b", "--max-model-len", "4096")
    assert asked(*command, "--cpu-offload-gb", "4", gpu="h100-sxm") is None
    assert asked(*command, "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}', gpu="h100-sxm") is None


LLAMA_SERVER = ("llama-server", "-m", "llama-3.1-8b", "-c", "4096", "-np", "1")


def test_layers_on_the_host_wait_for_memory_of_unknown_speed() -> None:
    assert known(*LLAMA_SERVER, gpu="rtx-3090", dtype="q4_k_m").decode_tokens_per_s.best > 80
    assert asked(*LLAMA_SERVER, "-ngl", "16", gpu="rtx-3090", dtype="q4_k_m") is None
    assert asked(*LLAMA_SERVER, "-nkvo", gpu="rtx-3090", dtype="q4_k_m") is None
    assert asked(*LLAMA_SERVER, "-dev", "none", gpu="rtx-3090", dtype="q4_k_m") is None
    assert asked(*LLAMA_SERVER, gpu="m4-max-128", dtype="q4_k_m") is not None
    assert asked(*LLAMA_SERVER, "-ngl", "16", gpu="m4-max-128", dtype="q4_k_m") is not None  # the same memory
    assert asked("llama-server", "-m", "llama-3.1-405b-fp8", "-c", "4096", "-np", "1", gpu="m4-max-128", dtype="q4_k_m") is None


def test_flash_attention_off_is_slower_at_length() -> None:
    on, off = (known(*LLAMA_SERVER[:4], "32768", "-np", "1", "-fa", said, gpu="rtx-3090", dtype="q4_k_m") for said in ("on", "off"))
    assert off.ttft_s.best > 1.3 * on.ttft_s.best
    assert off.tpot_s.best > on.tpot_s.best


def test_cards_in_turn_are_no_faster_and_those_that_share_layers_are() -> None:
    in_turn = [known(*LLAMA_SERVER, gpu="rtx-3090", gpus=n, dtype="q8_0") for n in ("1", "2")]
    assert in_turn[1].tpot_s.best == pytest.approx(in_turn[0].tpot_s.best, rel=0.01)
    assert in_turn[1].of.machine.pp == 2
    shared = [known("vllm", "serve", "llama-3.1-8b", "-tp", n, gpu="h100-sxm", gpus=n) for n in ("1", "2")]
    assert shared[1].tpot_s.best < 0.8 * shared[0].tpot_s.best
    rows = known(*LLAMA_SERVER, "-sm", "row", gpu="rtx-3090", gpus="2", dtype="q8_0")
    assert (rows.of.machine.tp, rows.of.machine.pp) == (2, 1)


def test_unequal_cards_count_as_they_are_used() -> None:
    fast, slow, both = (known(*LLAMA_SERVER, gpu=gpu, dtype="q8_0").of.machine.bandwidth for gpu in ("rtx-4090", "l4", "rtx-4090+l4"))
    assert slow < both < fast
    assert known("vllm", "serve", "llama-3.1-8b", "-tp", "2", "--max-model-len", "8192", gpu="rtx-4090+l4").of.machine.bandwidth == slow


def test_products_run_in_the_weights_type_where_the_card_has_it() -> None:
    main = rates.main_dtype(kvplan.load_model("llama-3.1-8b"))
    for scheme, rate in (("fp8", 1978.9), ("nvfp4", 989.4), ("w4a16", 989.4)):
        made = known(model="llama-3.1-8b", dtype=scheme, engine="vllm", gpu="h100-sxm").of.machine
        assert made.product_flops == pytest.approx(rate * 1e12)
    assert known(model="llama-3.1-8b", dtype="nvfp4", engine="vllm", gpu="b200").of.machine.product_flops == pytest.approx(9000e12)
    assert rates.peaks(catalog.find("rtx-3090"), main, "ggml") == (2 * 71.2, 2 * 71.2)
    assert rates.peaks(catalog.find("p40"), main, "ggml") == (47 / 4, 47 / 4)
    assert rates.peaks(catalog.find("h100-sxm"), main, "eager") == (989.4, 989.4)


def test_weights_quantized_while_they_load_are_read_and_multiplied_as_they_then_lie() -> None:
    said = ("vllm", "serve", "llama-3.1-8b", "--max-model-len", "4096")
    plain, fp8, nf4 = (known(*said, *more, gpu="h100-sxm") for more in ((), ("--quantization", "fp8"), ("--quantization", "bitsandbytes")))
    paper = known(*said, gpu="h100-sxm", dtype="fp8")
    assert fp8.tpot_s.best == pytest.approx(paper.tpot_s.best, rel=0.01)
    rates_of = [found.of.machine.product_flops for found in (fp8, paper, nf4, plain)]
    assert rates_of == pytest.approx([1978.9e12, 1978.9e12, 989.4e12, 989.4e12])
    linear = 2 * 32 * (4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336)
    for found, held in ((fp8, 1 / 2), (nf4, 9 / 32)):
        assert plain.of.traffic.dense_bytes - found.of.traffic.dense_bytes == linear * (1 - held)
    ampere = known(*said, "--quantization", "fp8", gpu="rtx-3090").of.machine
    assert ampere.product_flops == ampere.flops


def test_matrices_in_four_bits_of_bitsandbytes_are_written_out_for_more_than_one_row() -> None:
    said = ("vllm", "serve", "llama-3.1-8b", "--max-model-len", "4096")
    one, two = (known(*said, "--quantization", "bitsandbytes", gpu="l4", ctx="1024", batch=n) for n in ("1", "2"))
    plain = known(*said, gpu="l4", ctx="1024", batch="2")
    assert one.tpot_s.best < 0.5 * plain.tpot_s.best < 1.5 * plain.tpot_s.best < two.tpot_s.best
    paper = known(model="llama-3.1-8b", engine="vllm", dtype="nf4", gpu="l4", ctx="1024", batch="2")
    assert paper.tpot_s.best == pytest.approx(two.tpot_s.best, rel=0.01)
    eight = known(model="llama-3.1-8b", engine="vllm", dtype="bnb_8bit", gpu="l4", ctx="1024", batch="2")
    assert eight.of.traffic.unpacked_bytes == 0


@pytest.mark.parametrize(
    ("said", "gb_s"),
    [
        ("NVLink4 900GB/s", 900),
        ("NVLink5 1.8TB/s NVL72", 1800),
        ("NVLink bridge 600GB/s / PCIe5", 128),
        ("PCIe4 x8", 32),
        ("PCIe3", 32),
        ("IF 896GB/s", 896),
        ("", 64),
    ],
)
def test_links(said: str, gb_s: float) -> None:
    assert rates.link(said) == gb_s * 1e9


def test_a_cache_type_that_only_an_engine_has_counts_by_its_bits() -> None:
    command = ("vllm", "serve", "llama-3.1-8b", "--max-model-len", "4096", "--kv-cache-dtype")
    half, narrow = (known(*command, name, gpu="h100-sxm").of.traffic.growth[0].bytes_per_token for name in ("auto", "fp8"))
    assert narrow == half / 2
    assert known(*command, "int8_per_token_head", gpu="h100-sxm").of.traffic.growth[0].bytes_per_token == narrow


def test_a_shared_prefix_shortens_the_wait() -> None:
    model, node, engine = kvplan.load_model("llama-3.1-8b"), catalog.node("h100-sxm"), find_engine("vllm")
    load = Workload(8192, 4, 8000)
    settings = engine.resolve(Parsed("vllm", None, None), load, model, node, engine.versions[-1])
    ready = speed.prepared(engine, settings, engine.deploy(model, settings, node), model, node)
    assert ready is not None
    assert ready.at(load, 4, cached_tokens=7000).ttft_s.best < ready.at(load, 4).ttft_s.best / 3
    assert speed.prepared(engine, settings, engine.deploy(model, settings, node), model, Node(None, None, ())) is None


def test_only_so_many_deployments_are_kept_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "MOST_READY", 1)
    first = known(model="llama-3.1-8b", gpu="h100-sxm")
    known(model="llama-3.1-8b", gpu="a100-80")
    assert known(model="llama-3.1-8b", gpu="h100-sxm") == first


def test_the_answer_shows_it(kvplan: Run) -> None:
    argv = (
        "estimate",
        "mixtral-8x7b",
        "--engine",
        "vllm",
        "--gpu",
        "h100-sxm",
        "--gpus",
        "2",
        "--ctx",
        "4k",
        "--prompt",
        "3k",
        "--batch",
        "8",
    )
    text = kvplan(*argv, "--explain").out
    assert "to the first token" in text
    assert "one of 8 every" in text
    assert "3,072 tokens read and 1,024 written" in text
    assert "between cards" in text
    said = json.loads(kvplan(*argv, "--json").out)["performance"]
    assert set(said) == {"ttft_s", "tpot_s", "decode_tokens_per_s", "requests_per_s"}
    assert said["tpot_s"]["low"] < said["tpot_s"]["best"] < said["tpot_s"]["high"]
    alone = kvplan("estimate", "llama-3.1-8b", "--dtype", "fp8", "--engine", "vllm", "--gpu", "h100-sxm", "--explain").out
    assert "in the weights' type" in alone
    assert "every" not in next(line for line in alone.splitlines() if line.startswith("speed:"))
    assert kvplan("estimate", "llama-3.1-8b", "--explain").out.count("speed") == 0


def test_measured_rows_lie_where_they_are_predicted(shared: Path) -> None:
    found, left_out = cases(shared / "facts" / "throughput.tsv")
    results = sorted((scored(case) for case in found if case.kind != MAX_LOAD), key=lambda one: abs(one.error))
    assert abs(results[len(results) // 2].error) <= 0.25
    assert sum(one.inside for one in results) >= 0.9 * len(results)
    assert sorted(one.width for one in results)[len(results) // 2] <= 1.6
    assert all(why for _, why in left_out)


def test_nothing_is_said_of_models_that_attend_to_an_encoder() -> None:
    assert asked(model="whisper-large-v3", engine="vllm", gpu="l4", ctx="448") is None
