"""Prompts read in chunks, and runs without a cache, against traces of transformers 5.24.0.

The traces ran small models the way generate() does: a prefill in chunks where there are some, then decode steps, over all tokens again
where nothing is cached; bytes beside the weights.
"""

import json
from pathlib import Path

import pytest

from kvplan.core.device import UNKNOWN_NODE
from kvplan.core.errors import RequestError
from kvplan.core.workload import Workload
from kvplan.engines.transformers.engine import ENGINE
from tests.engines.transformers.running import LATENT, MIXTURE, NEWEST, SMALL, by_term, deployment, gpu, model, settings

DATA = Path(__file__).parents[2] / "data" / "traces" / "transformers-5.24.0-chunks.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text().splitlines()]
WINDOWED = SMALL | {"model_type": "mistral", "sliding_window": 64}
STATES = {"model_type": "mamba2", "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 16}


@pytest.mark.parametrize("row", ROWS, ids=[f"{i} {row['config']['model_type']}" for i, row in enumerate(ROWS)])
def test_peaks_are_those_of_the_modeling_code(row: dict[str, object]) -> None:
    spec = model(row["config"])  # type: ignore[arg-type]
    for attn, cache, batch, prompt, steps, chunk, prefill, decode in row["runs"]:  # type: ignore[attr-defined]
        flags = {"attn_implementation": attn, "cache_implementation": cache, "prefill_chunk_size": str(chunk)}
        deployed, load = deployment(spec, flags, node=gpu()), Workload(prompt + steps, batch, prompt)
        phases, held = deployed.phases(load), by_term(deployed.entries(load))["weights"].size.best
        assert (phases.prefill_peak_bytes or 0) - held == pytest.approx(prefill, rel=0.012), (attn, cache, chunk)
        assert (phases.decode_peak_bytes or 0) - held == pytest.approx(decode, rel=0.003), (attn, cache, chunk)


@pytest.mark.parametrize("config", [SMALL, WINDOWED, MIXTURE, LATENT, STATES], ids=lambda config: str(config["model_type"]))
@pytest.mark.parametrize("flags", [{}, {"cache_implementation": "static"}, {"padding": "left"}, {"attn_implementation": "eager"}], ids=str)
def test_chunks_never_take_more_than_the_prompt_at_once(config: dict[str, object], flags: dict[str, str]) -> None:
    load = Workload(2001, 2, 2000)
    spec = model(config)
    whole = deployment(spec, flags, node=gpu()).phases(load).prefill_peak_bytes or 0
    chunked = deployment(spec, flags, node=gpu(), prefill_chunk_size="256").phases(load).prefill_peak_bytes or 0
    assert chunked < whole
    assert deployment(spec, flags, node=gpu(), prefill_chunk_size="2048").phases(load).prefill_peak_bytes == whole


def test_flash_attention_reads_chunks_without_a_mask() -> None:
    load = Workload(2001, 2, 2000)
    flash = deployment(model(), node=gpu(), prefill_chunk_size="256", attn_implementation="flash_attention_2").phases(load)
    masked = deployment(model(), node=gpu(), prefill_chunk_size="256").phases(load)
    assert (flash.prefill_peak_bytes or 0) < (masked.prefill_peak_bytes or 0)


def test_chunks_of_longer_prompts_take_more() -> None:
    deployed = deployment(model(WINDOWED), node=gpu(), prefill_chunk_size="100")
    needs = [deployed.need_bytes("gpu0", Workload(n + 1, 2, n)).best for n in range(90, 420, 7)]
    assert needs == sorted(needs)


def test_without_a_cache_none_is_listed() -> None:
    deployed = deployment(model(), node=gpu(), use_cache="False")
    load = Workload(2001, 2, 2000)
    assert "kv_cache" not in by_term(deployed.entries(load))
    plan = deployed.kv(load)
    assert (plan.reserved_bytes, plan.ideal_bytes, plan.bytes_per_token, plan.groups) == (0, 0, 0, ())


def test_without_a_cache_decoding_copies_experts_for_all_tokens() -> None:
    # transformers 5.24 integrations/moe.py, batched_mm, over the whole sequence in each step: 277 GB in a trace of four small layers
    load = Workload(100, 1, 99)
    with_cache, without = deployment(model(MIXTURE)).phases(load), deployment(model(MIXTURE), use_cache="False").phases(load)
    assert (without.decode_peak_bytes or 0) - (with_cache.decode_peak_bytes or 0) > 98 * 2 * 3 * 64 * 96 * 2


def test_settings() -> None:
    found = settings(model(), {"use_cache": "False"})
    assert (found.cache, found.chunk_tokens) == ("none", 0)
    assert settings(model(), {"cache_implementation": "none"}) == found
    assert settings(model(), {"prefill_chunk_size": "1k"}).chunk_tokens == 1024
    for one in (found, settings(model(), {"prefill_chunk_size": "512", "cache_implementation": "static"})):
        assert ENGINE.resolve(ENGINE.parse(ENGINE.command(one), {}, NEWEST), Workload(8, 1, 7), model(), UNKNOWN_NODE, NEWEST) == one
    with pytest.raises(RequestError, match="a plain forward does not"):
        settings(model(), {"prefill_chunk_size": "512", "forward": "plain"})
    with pytest.raises(RequestError, match="prefill_chunk_size"):
        settings(model(), {"prefill_chunk_size": "many"})


def test_chunks_need_a_cache() -> None:
    # transformers 5.24 generation/utils.py, _prefill
    deployed = deployment(model(), use_cache="False", prefill_chunk_size="64")
    assert [refusal.rule for refusal in deployed.refusals] == ["KV316"]
