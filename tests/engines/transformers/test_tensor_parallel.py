"""Tensor parallelism: what each process holds, and what it computes."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.core.device import Gpu, Node
from kvplan.core.errors import RequestError
from kvplan.core.ledger import ZERO, total
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.transformers import shards
from kvplan.engines.transformers.engine import ENGINE
from kvplan.engines.transformers.ranks import REPLICATED
from kvplan.engines.transformers.tp_plans import WITHOUT, tp_plan
from kvplan.specs.build import build
from tests.engines.transformers.running import LATENT, MIXTURE, by_term, model, on_several, settings

LINES = (Path(__file__).parents[2] / "data/placements/tensor_parallel.jsonl").read_text(encoding="utf-8").splitlines()
RUNS = [json.loads(line) for line in LINES[1:]]
LOAD = Workload(40, 2, 30)
TWO = Node("cards", "flag", (Gpu("card", "Card", "NVIDIA", 80 * GIB, 80 * GIB, compute_capability=(8, 0)),) * 2)


@pytest.mark.parametrize("case", RUNS, ids=[case["config"]["model_type"] for case in RUNS])
def test_every_process_holds_what_it_holds_under_torchrun(case: dict[str, Any]) -> None:
    spec = build({**case["config"], "dtype": "bfloat16"}, where="config.json")
    plan = tp_plan(spec.model_type)
    for rank, found in enumerate(case["ranks"]):
        if plan is None:
            assert spec.model_type in WITHOUT
            assert found["error"] == on_several(spec, node=TWO, tp_size="2").refusals[0].text
            continue
        held = shards.rank_model(spec, plan, 2, rank)
        buffers = sum(group.run_bytes("bfloat16") for group in held.groups() if group.role == "scale")
        assert shards.held_bytes(held, "bfloat16") - buffers == found["bytes"]
        if "error" in found:
            assert [refusal.text for refusal in on_several(spec, node=TWO, tp_size="2").refusals] == [found["error"]]
        else:
            assert on_several(spec, node=TWO, tp_size="2").refusals == ()


def test_ranks_are_alike_and_one_is_shown() -> None:
    spec = model()
    deployed = on_several(spec, node=TWO, tp_size="2")
    entries = deployed.entries(LOAD)
    assert {entry.place for entry in entries if entry.listed} == {"gpu0"}
    for where in ("gpu0", "gpu1"):
        assert deployed.need_bytes(where, LOAD) == total(entry.size for entry in entries if entry.place == where)
    here = by_term(tuple(entry for entry in entries if entry.place == "gpu1" and entry.name != "NCCL buffers"))
    norms = 2 * (2 * 3 + 1) * 64
    assert here["weights"].size.best == (2 * spec.n_params - norms) // 2 + norms
    assert here["kv_cache"].size.best == 3 * 2 * 40 * 2 * 1 * 16 * 2
    assert deployed.kv(LOAD).reserved_bytes == here["kv_cache"].size.best
    assert deployed.need_bytes("gpu2", LOAD) == ZERO
    assert deployed.findings == ()
    assert deployed.log_lines() == ()
    assert deployed.capacity(LOAD) is None
    assert deployed.resolved() == {}
    assert deployed.usable_bytes("gpu0") is None
    assert set(dict(deployed.held().weights)) == {"gpu0", "gpu1"}
    assert "NCCL buffers" in [entry.name for entry in entries]


def test_a_rank_computes_its_part_of_a_layer() -> None:
    # the prefill of test_activations_of_the_prefill_by_hand, with half of the feed-forward's width
    deployed = on_several(model(num_attention_heads=2, num_key_value_heads=2, head_dim=16), node=TWO, tp_size="2")
    load = Workload(2000, 2, 1000)
    prefill = 2000 * (2 * (4 * 64 + 3 * 88) + 8) + 1000 * (8 + 2 * 16 * 2) + 2 * 3 * 64 * 1000
    phases = deployed.phases(load)
    assert phases.prefill_peak_bytes == (phases.load_peak_bytes or 0) + prefill


@pytest.mark.parametrize(("forward", "peak"), [("generate", 5_447_680), ("plain", 11_816_960)])
def test_a_rank_peaks_where_a_process_did(forward: str, peak: int) -> None:
    # 2 processes on CPUs over gloo, LlamaForCausalLM in bfloat16, 512 tokens: allocations in torch.profiler's trace of the forward pass
    config = {"vocab_size": 4000, "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 4, "num_attention_heads": 8}
    spec = model(config, model_type="llama", num_key_value_heads=4, head_dim=64)
    phases = on_several(spec, node=TWO, tp_size="2", forward=forward).phases(Workload(512, 1, 512))
    assert (phases.prefill_peak_bytes or 0) - (phases.load_peak_bytes or 0) == peak


def test_fused_projections_are_put_together_first() -> None:
    spec = model(model_type="glm4", head_dim=16)
    assert spec.form.mlp == ("4H + 4I",)
    whole, rank = (
        on_several(spec, {key: value}, node=TWO).phases(Workload(2000, 2, 2000))
        for key, value in (("device_map", "none"), ("tp_size", "2"))
    )
    more = (rank.prefill_peak_bytes or 0) - (rank.load_peak_bytes or 0) - (whole.prefill_peak_bytes or 0) + (whole.load_peak_bytes or 0)
    assert more == 4000 * 2 * 176 - 2 * 3 * 64 * 2000  # a rank caches half


def test_experts_are_cut_and_latents_kept_whole() -> None:
    plan = tp_plan("deepseek_v2")
    assert plan is not None
    mixture = shards.rank_model(model(LATENT), plan, 2, 0)
    layer, whole = mixture.runs[-1].layer, model(LATENT).runs[-1].layer
    (mla,), (moe,), (latent,) = layer.mixers, layer.ffns, whole.mixers
    assert mla.kind == latent.kind == "mla"
    assert mla == latent._replace(n_heads=2)
    assert moe.kind == "moe"
    assert (moe.intermediate, moe.shared_intermediate) == (16, 16)
    experts = {group.name: (group.rows, group.cols) for group in layer.weights if group.role == "expert"}
    assert set(experts.values()) == {(16, 64), (64, 16)}


def test_the_last_rank_has_what_is_left() -> None:
    assert [shards.chunk(5, 4, rank) for rank in range(4)] == [2, 2, 1, 0]
    odd = model(MIXTURE, vocab_size=3)
    plan = tp_plan("mixtral")
    assert plan is not None
    sizes = [shards.held_bytes(shards.rank_model(odd, plan, 4, rank), "bfloat16") for rank in range(4)]
    assert sizes[0] == sizes[2] == sizes[3] + 2 * 2 * 64


def test_heads_divide_or_it_fails_at_the_first_pass() -> None:
    plan = tp_plan("llama")
    assert plan is not None
    assert shards.cut(model(), plan, 2) is None
    assert shards.cut(model(), plan, 4) == shards.Cut(8, 16)
    assert shards.cut(model(), REPLICATED, 4) is None
    latent = tp_plan("deepseek_v2")
    assert latent is not None
    assert shards.cut(model(LATENT), latent, 8) == shards.Cut(12, 24)
    states = tp_plan("bamba")
    assert states is not None
    assert shards.cut(model(), states, 3) is None


def test_families_that_nobody_entered_are_not_guessed() -> None:
    with pytest.raises(RequestError) as raised:
        on_several(model(model_type="aquila"), node=TWO, tp_size="2")
    assert "what Transformers shards of 'aquila' is not modeled" in raised.value.message


def test_a_device_map_beside_it_is_refused() -> None:
    deployed = on_several(model(), node=TWO, tp_size="2", device_map="auto")
    assert [(refusal.rule, refusal.text) for refusal in deployed.refusals] == [
        ("KV340", "ValueError: Tensor parallelism and `device_map` are mutually exclusive.")
    ]


def test_older_versions_split_as_the_newest() -> None:
    deployed = on_several(model(), node=TWO, tp_size="2", version="5.23.0")
    assert [finding.rule for finding in deployed.findings] == ["KV345"]


def test_without_hardware_the_ranks_are_counted_too() -> None:
    deployed = on_several(model(), tp_size="2")
    assert deployed.need_bytes("gpu0", LOAD) == total(entry.size for entry in deployed.entries(LOAD) if entry.place == "gpu0")


def test_commands_give_back_their_settings() -> None:
    found = settings(model(), node=TWO, tp_size="2")
    assert (found.device_map, found.devices) == ("", 2)
    parsed = ENGINE.parse(ENGINE.command(found), {}, found.version)
    assert ENGINE.resolve(parsed, LOAD, model(), TWO, found.version) == found
    pace = ENGINE.pace(found, model())
    assert pace is not None
    assert (pace.tp, pace.pp) == (2, 1)
