import json
from pathlib import Path

import pytest

from kvplan.core.device import budget_node
from kvplan.core.ledger import Entry, Interval, Phases, exactly
from kvplan.core.ledger import Term as Name
from kvplan.core.units import GIB, MIB
from kvplan.estimator import Estimate, estimate
from kvplan.verifier.reconcile import reconcile
from kvplan.verifier.record import Built, Device, Job, Phase, Record, Snapshot
from kvplan.verifier.term import Term

LLAMA: dict[str, object] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 100, "dtype": "bfloat16",
}  # fmt: skip
PARAMETER_BYTES = 2 * 86848  # transformers 5.24 LlamaForCausalLM of this config
KV_BYTES = 2 * 2 * 1 * 32 * 2 * 24 * 2  # K and V · layers · heads · head_dim · bytes · tokens · sequences


def entry(term: Name, low: int, best: int, high: int) -> Entry:
    return Entry(term, term, "gpu0", Interval(low, best, high), "modeled", "", {}, "")


@pytest.fixture
def estimated(tmp_path: Path) -> Estimate:
    """An estimate of 24 tokens × 2 whose weights and cache are the engine's, the rest made up to be easy to read."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    found = estimate(str(tmp_path / "config.json"), ctx=24, batch=2, prompt=20)
    exact = tuple(e for e in found.entries if e.term in ("weights", "kv_cache"))
    made_up = (
        entry("activations", GIB, 2 * GIB, 3 * GIB),
        entry("workspace", 8 * MIB, 32 * MIB, 32 * MIB),
        entry("allocator", 0, 10 * MIB, 500 * MIB),
        entry("runtime_context", 300 * MIB, 500 * MIB, 700 * MIB),
    )
    held = PARAMETER_BYTES + KV_BYTES
    phases = Phases(PARAMETER_BYTES, held + 2 * GIB, held + GIB)
    node = budget_node(80 * GIB)
    places = (found.places[0]._replace(place=node.places()[0], needed=Interval(2 * GIB, 3 * GIB, 4 * GIB)),)
    return found._replace(entries=(*exact, *made_up), phases=phases, node=node, places=places)


def phase(kv: int, *, peak: int | None, n_steps: int, process: int | None = 3 * GIB) -> Phase:
    reserved = 3 * GIB - 500 * MIB
    memory = Snapshot(
        peak_allocated_bytes=peak,
        reserved_bytes=reserved,
        peak_reserved_bytes=reserved,
        process_bytes=process,
        device_used_bytes=4 * GIB,
    )
    return Phase(n_steps, 0.5, kv, 0, memory)


RECORD = Record(
    job=Job("llama", LLAMA, "bfloat16", 24, 2, 20),
    outcome="ran",
    error=None,
    taken_at="2026-11-29T12:00:00Z",
    versions={},
    device=Device("cuda", "NVIDIA H200", "9.0", 140 * GIB, 141 * GIB),
    before=Snapshot(device_used_bytes=0),
    model=Built("LlamaForCausalLM", "sdpa", 86848, PARAMETER_BYTES, 128, 0.1),
    loaded=Snapshot(allocated_bytes=PARAMETER_BYTES + 32 * MIB),
    prefill=phase(KV_BYTES * 20 // 24, peak=PARAMETER_BYTES + KV_BYTES + 2 * GIB + 32 * MIB, n_steps=1),
    decode=phase(KV_BYTES, peak=PARAMETER_BYTES + KV_BYTES + GIB + 32 * MIB, n_steps=4),
)


def by_name(terms: tuple[Term, ...]) -> dict[tuple[str, str], Term]:
    return {(term.term, term.phase): term for term in terms}


def test_every_term_of_a_run_that_agrees(estimated: Estimate) -> None:
    terms = by_name(reconcile(estimated, RECORD))
    assert all(term.ok for term in terms.values())
    assert {name: term.measured_bytes for name, term in terms.items() if term.estimate is None} == {
        ("reserved", "prefill"): 3 * GIB - 500 * MIB,
        ("reserved", "decode"): 3 * GIB - 500 * MIB,
    }
    assert {name: (term.estimate.best, term.measured_bytes) for name, term in terms.items() if term.estimate} == {
        ("weights", "load"): (PARAMETER_BYTES, PARAMETER_BYTES),
        ("kv_cache", "decode"): (KV_BYTES, KV_BYTES),
        ("peak", "prefill"): (PARAMETER_BYTES + KV_BYTES + 2 * GIB,) * 2,
        ("peak", "decode"): (PARAMETER_BYTES + KV_BYTES + GIB,) * 2,
        ("activations", "prefill"): (2 * GIB, 2 * GIB),
        ("workspace", "load"): (32 * MIB, 32 * MIB - 128),
        ("allocator", "peak"): (10 * MIB, GIB - 532 * MIB - PARAMETER_BYTES - KV_BYTES),
        ("runtime_context", "load"): (500 * MIB, 500 * MIB),
        ("total", "peak"): (3 * GIB, 3 * GIB),
    }


def test_the_peak_of_loading_is_compared_where_a_checkpoint_was_loaded(estimated: Estimate) -> None:
    loaded = RECORD._replace(job=RECORD.job._replace(weights="."), built=Snapshot(peak_allocated_bytes=PARAMETER_BYTES + 128))
    assert by_name(reconcile(estimated, loaded))["load_peak", "load"].measured_bytes == PARAMETER_BYTES
    assert ("load_peak", "load") not in by_name(reconcile(estimated, loaded._replace(built=Snapshot())))


def test_weights_and_cache_have_no_tolerance(estimated: Estimate) -> None:
    run = RECORD._replace(
        model=Built("LlamaForCausalLM", "sdpa", 86849, PARAMETER_BYTES + 2, 128, 0.1), decode=phase(KV_BYTES + 2, peak=None, n_steps=4)
    )
    terms = by_name(reconcile(estimated, run))
    assert not terms["weights", "load"].ok
    assert not terms["kv_cache", "decode"].ok


def test_peaks_have_a_tolerance_of_their_own(estimated: Estimate) -> None:
    right = PARAMETER_BYTES + KV_BYTES + 2 * GIB + 32 * MIB
    for over, ok in ((35 * MIB, True), (60 * MIB, False)):  # 2 % of 2 GiB and a little is 41 MiB
        terms = by_name(reconcile(estimated, RECORD._replace(prefill=phase(0, peak=right + over, n_steps=1))))
        assert terms["peak", "prefill"].ok is ok


def test_the_cache_is_the_fuller_of_two_moments(estimated: Estimate) -> None:
    run = RECORD._replace(prefill=phase(KV_BYTES + 64, peak=None, n_steps=1))
    assert by_name(reconcile(estimated, run))["kv_cache", "decode"].measured_bytes == KV_BYTES + 64


def test_states_are_compared_where_either_side_has_some(estimated: Estimate) -> None:
    run = RECORD
    assert run.decode
    run = run._replace(decode=run.decode._replace(state_bytes=10))
    assert by_name(reconcile(estimated, run))["recurrent_state", "decode"] == Term("recurrent_state", "decode", exactly(0), 10, 0)


def test_a_driver_without_process_figures_tells_by_the_growth_of_the_device(estimated: Estimate) -> None:
    run = RECORD._replace(before=Snapshot(device_used_bytes=GIB), decode=phase(KV_BYTES, peak=None, n_steps=4, process=None))
    assert by_name(reconcile(estimated, run))["total", "peak"].measured_bytes == 3 * GIB
    run = run._replace(before=Snapshot())
    assert ("total", "peak") not in by_name(reconcile(estimated, run))


def test_a_run_that_ran_out_of_memory_is_compared_as_far_as_it_got(estimated: Estimate) -> None:
    loaded = reconcile(estimated, RECORD._replace(prefill=None, decode=None))
    assert list(by_name(loaded)) == [("weights", "load"), ("workspace", "load")]
    assert ("kv_cache", "decode") not in by_name(reconcile(estimated, RECORD._replace(decode=None)))
    assert reconcile(estimated, RECORD._replace(model=None, loaded=None, prefill=None, decode=None)) == ()


@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        pytest.param(
            "trace", {"weights", "kv_cache", "peak", "activations", "workspace", "allocator", "reserved"}, id="a trace has no driver"
        ),
        pytest.param("cpu", {"weights", "kv_cache"}, id="a processor has kernels of its own"),
    ],
)
def test_what_is_compared_where_no_gpu_ran(estimated: Estimate, kind: str, terms: set[str]) -> None:
    found = reconcile(estimated, RECORD._replace(device=RECORD.device._replace(kind=kind)))
    assert {term.term for term in found} == terms
    assert all(term.ok for term in found)
