"""device_map: the split of Transformers itself, module by module, and what each place then holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.device import Gpu, Node
from kvplan.core.errors import RequestError
from kvplan.core.ledger import ZERO, exactly, total
from kvplan.core.units import GIB, MIB
from kvplan.core.workload import Workload
from kvplan.engines.transformers.budget import UNLIMITED, budget
from kvplan.engines.transformers.engine import ENGINE
from kvplan.engines.transformers.modules import Tree, tree
from kvplan.engines.transformers.placing import Budget, balanced, place
from kvplan.engines.transformers.spread import Spread, placed
from kvplan.specs import load_model
from kvplan.specs.build import build
from tests.engines.transformers.running import MIXTURE, by_term, model, on_several, settings

PLACEMENTS = Path(__file__).parents[2] / "data/placements"
LINES = (PLACEMENTS / "device_map.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES[1:]]
SPLITS, TOWERED = [case for case in CASES if "config" in case], [case for case in CASES if "model" in case]
LOAD = Workload(40, 2, 30)
KIB = 1024


def card(n_bytes: int, *, unified: bool = False) -> Gpu:
    return Gpu("card", "Card", "NVIDIA", n_bytes, n_bytes, compute_capability=(8, 6), unified=unified)


def node(*sizes: int, ram: int | None = None, used: tuple[int, ...] = ()) -> Node:
    return Node("cards", "flag", tuple(card(size) for size in sizes), used, ram_bytes=ram)


TWO = node(24 * GIB, 24 * GIB)


@pytest.mark.parametrize("case", SPLITS, ids=[case["config"]["model_type"] for case in SPLITS])
def test_every_module_lies_where_transformers_puts_it(case: dict[str, Any]) -> None:
    spec = build(case["config"], where="config.json")
    modules = tree(spec, spec.stored_dtype)
    assert modules.known
    assert modules.size == case["bytes"]
    for how, limits, expected in case["rows"]:
        assert _held(modules, how, limits) == expected, (how, limits)


@pytest.mark.parametrize("case", TOWERED, ids=[case["model"] for case in TOWERED])
def test_published_models_with_towers_lie_there_too(case: dict[str, Any]) -> None:
    # their towers have buffers that kvplan does not count: some KiB of many GiB
    spec = load_model(case["model"])
    modules = tree(spec, spec.stored_dtype)
    assert modules.known
    for how, limits, expected in case["rows"]:
        held = _held(modules, how, limits)
        assert set(held) == set(expected)
        assert all(abs(held[device] - size) < MIB // 4 for device, size in expected.items()), (how, limits)


def _held(modules: Tree, how: str, limits: dict[str, int]) -> dict[str, int]:
    asked = Budget(tuple((int(name) if name.isdecimal() else name, size) for name, size in limits.items()), said=True)
    found = place(modules, asked if how == "sequential" else balanced(modules, asked, low_zero=how == "balanced_low_0"))
    held: dict[str, int] = {}
    for module in modules.whole():
        held[str(found[module.name])] = held.get(str(found[module.name]), 0) + module.size
    return {device: size for device, size in held.items() if size}


def test_several_gpus_share_the_layers_without_a_word() -> None:
    deployed = on_several(model(num_hidden_layers=6), node=TWO)
    entries = deployed.entries(LOAD)
    weights = {entry.place: entry for entry in entries if entry.term == "weights"}
    assert set(weights) == {"gpu0", "gpu1"}
    assert sum(entry.size.best for entry in weights.values()) == 2 * model(num_hidden_layers=6).n_params
    assert weights["gpu0"].inputs["modules"] == "embed_tokens, layers 0 to 2"
    assert weights["gpu1"].inputs["modules"] == "layers 3 to 5, norm, rotary_emb, lm_head"
    caches = {entry.place: entry.size.best for entry in entries if entry.term == "kv_cache"}
    assert caches == {"gpu0": 3 * 2 * 40 * 2 * 2 * 16 * 2, "gpu1": 3 * 2 * 40 * 2 * 2 * 16 * 2}
    assert {entry.place for entry in entries if entry.term == "runtime_context"} == {"gpu0", "gpu1"}
    assert [finding.rule for finding in deployed.findings] == ["KV305"]
    assert deployed.log_lines() == ()
    assert deployed.capacity(LOAD) is None
    assert deployed.resolved() == {}
    assert deployed.usable_bytes("gpu0") is None
    assert dict(deployed.held().weights) == {place: entry.size.best for place, entry in weights.items()}


@pytest.mark.parametrize("forward", ["generate", "plain"])
def test_the_output_goes_back_to_the_first_gpu(forward: str) -> None:
    # accelerate 1.15 hooks.py: the outermost hook has io_same_device
    wide = model(vocab_size=500_000, num_hidden_layers=6)
    deployed = on_several(wide, node=TWO, forward=forward, max_memory="0:128.2MB,1:1GB")
    sizes = {entry.place: entry.size.best for entry in deployed.entries(LOAD) if entry.term in ("activations", "logits")}
    row = 500_000 * (60 if forward == "plain" else 2)
    assert sizes["gpu0"] >= row * 2
    assert sizes["gpu1"] >= row * 2
    both = [entry.place for entry in deployed.entries(LOAD) if entry.term == "logits"]
    assert both == (["gpu0", "gpu1"] if forward == "plain" else [])


def test_the_fullest_gpu_is_the_one_of_the_phases_and_the_cache() -> None:
    spec = model(num_hidden_layers=6)
    deployed = on_several(spec, node=TWO, max_memory="0:400KiB,1:1GiB")
    needs = {where: deployed.need_bytes(where, LOAD).best for where in ("gpu0", "gpu1")}
    assert needs["gpu1"] > needs["gpu0"]
    assert deployed.kv(LOAD).groups[0].n_layers > 3
    assert (deployed.phases(LOAD).load_peak_bytes or 0) < 2 * spec.n_params
    assert deployed.need_bytes("gpu7", LOAD) == ZERO
    assert deployed.need_bytes("host", LOAD) == ZERO


def test_weights_on_the_host_pass_through_the_first_gpu() -> None:
    spec = model(num_hidden_layers=6)
    deployed = on_several(spec, node=node(24 * GIB), max_memory="0:400KiB,cpu:8MiB")
    here, there = (by_term(tuple(entry for entry in deployed.entries(LOAD) if entry.place == where)) for where in ("gpu0", "host"))
    assert here["weights"].size.best + there["weights"].size.best == 2 * spec.n_params
    assert here["kv_cache"].size.best == 6 * 2 * 40 * 2 * 2 * 16 * 2
    # accelerate 1.15 hooks.py: one module with tensors of its own at a time; here the head, which waits, too
    assert here["offload"].inputs == {"inside": 64 * 176 * 2, "outside": 1000 * 64 * 2, "layer": 92416}
    assert set(there) == {"weights"}
    assert deployed.need_bytes("host", LOAD) == there["weights"].size
    rules = [finding.rule for finding in deployed.findings]
    assert rules == ["KV343", "KV346"]
    assert any(item.id == "host_process" for item in deployed.not_modeled)
    assert "on the host (" in deployed.findings[0].message


def test_what_fits_nowhere_stays_on_disk() -> None:
    deployed = on_several(model(num_hidden_layers=6), node=node(24 * GIB, ram=GIB), max_memory="0:400KiB,cpu:200KiB")
    assert deployed.refusals == ()
    found = next(finding for finding in deployed.findings if finding.rule == "KV343")
    assert "on disk (" in found.message
    everything = sum(entry.size.best for entry in deployed.entries(LOAD) if entry.term == "weights")
    assert everything < 2 * model(num_hidden_layers=6).n_params


def test_a_device_may_be_kept_free() -> None:
    spec = model(num_hidden_layers=6)
    deployed = on_several(spec, node=TWO, max_memory="0:0GiB,1:1GiB,cpu:0GiB")
    where = {entry.place for entry in deployed.entries(LOAD) if entry.term == "weights" and entry.size.best}
    assert where == {"gpu1"}


def test_disk_may_be_named() -> None:
    spec = model()
    modules = tree(spec, "bfloat16")
    found = placed(modules, settings(spec, node=TWO, max_memory="disk:1MiB,0:400KiB"), spec, TWO)
    assert set(found.values()) == {0, "disk"}
    assert found == place(modules, Budget(((0, 400 * KIB),), said=True))


def test_merged_experts_on_disk_need_a_folder() -> None:
    # transformers 5.24 integrations/accelerate.py, offload_weight
    limits = "0:250KiB"
    deployed = on_several(model(MIXTURE), node=node(24 * GIB), max_memory=limits)
    assert [refusal.rule for refusal in deployed.refusals] == ["KV347"]
    assert "offload_folder" in deployed.refusals[0].text


def test_the_draft_model_stays_on_the_first_gpu() -> None:
    spec = model(num_hidden_layers=6)._replace(draft=model(num_hidden_layers=1))
    deployed = on_several(spec, node=TWO, assistant_model="small")
    assert {entry.place for entry in deployed.entries(Workload(40, 1, 30)) if entry.term == "draft_model"} == {"gpu0"}


def test_a_family_whose_modules_nobody_compared_says_so() -> None:
    deployed = on_several(model(model_type="aquila"), node=TWO)
    assert "KV344" in [finding.rule for finding in deployed.findings]


TRACES = [json.loads(line) for line in (PLACEMENTS / "split_traces.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", TRACES[1:], ids=lambda row: "-".join(map(str, list(row.values())[:5])))
def test_each_gpu_holds_what_was_traced(row: dict[str, Any]) -> None:
    spec = build({"model_type": row["family"], **TRACES[0]["config"]}, where="config.json")
    modules = list(tree(spec, "bfloat16").whole())
    kept_free = max(module.size for module in modules[4:])
    behind = "cpu" if row["behind"] == "cpu" else "1"
    limits = f"0:{sum(module.size for module in modules[:4]) + kept_free + 4096}B,{behind}:1GiB"
    found = on_several(spec, node=TWO, device_map="sequential", max_memory=limits, forward=row["forward"])
    assert isinstance(found, Spread)
    load = Workload(row["prompt"], row["batch"], row["prompt"])
    for where, expected in zip(("gpu0", "gpu1"), row["prefill"], strict=True):
        phases = found.on(where).phases(load)
        peak = (phases.prefill_peak_bytes or 0) - (phases.load_peak_bytes or 0)
        assert abs(peak - expected) <= expected // (100 if behind == "cpu" else 1_000_000), where


def test_towers_stand_in_front_of_the_decoder() -> None:
    path = Path(__file__).parents[2] / "data/families/gemma_vl.json"
    spec = build(json.loads(path.read_text(encoding="utf-8"))[0]["config"], where="config.json")
    modules = tree(spec, spec.stored_dtype)
    assert not modules.known
    assert modules.roots[0].children[0].name == "model.towers"
    deployed = on_several(spec, node=node(24 * GIB), max_memory="0:1GiB,cpu:8GiB")
    weights = next(entry for entry in deployed.entries(LOAD) if entry.term == "weights")
    assert str(weights.inputs["modules"]).startswith("towers, embed_tokens, layers 0 to")


def test_what_a_device_may_hold_where_nobody_said() -> None:
    spec, busy = model(), node(2 * GIB, 2 * GIB, ram=10 * GIB, used=(GIB, 0))
    found = budget(settings(spec, node=busy), busy)
    assert found.limits == ((0, GIB - 426 * MIB - 512), (1, 2 * GIB - 426 * MIB - 512), ("cpu", 9 * GIB))
    unknown = node(2 * GIB, 2 * GIB)
    assert budget(settings(spec, node=unknown), unknown).limits[-1] == ("cpu", UNLIMITED)
    shared = Node("spark", "flag", (card(8 * GIB, unified=True),))
    assert [device for device, _ in budget(settings(spec, node=shared, device_map="auto"), shared).limits] == [0]
    full = node(100 * MIB)
    assert budget(settings(spec, node=full, device_map="auto"), full).gpus == []


def test_one_gpu_is_filled_to_nine_tenths() -> None:
    modules = tree(model(), "bfloat16")
    found = balanced(modules, Budget(((0, 1000), ("cpu", 5)), said=False), low_zero=True)
    assert found.limits == ((0, 900), ("cpu", 5))
    assert balanced(modules, Budget((("cpu", 5),), said=False), low_zero=False).limits == (("cpu", 5),)


def test_methods_that_need_room_get_less() -> None:
    asked = Budget(((0, 1000),), said=True)
    assert asked.tightened("bitsandbytes").limits == ((0, 900),)
    assert asked.tightened("fp8") == asked


@pytest.mark.parametrize("how", ["sequential", "balanced_low_0", "balanced"])
def test_other_ways_to_split(how: str) -> None:
    spec = model(num_hidden_layers=6)
    modules = tree(spec, "bfloat16")
    found = placed(modules, settings(spec, node=TWO, device_map=how), spec, TWO)
    on_first = [name for name, device in found.items() if device == 0]
    assert (len(on_first) == len(found)) == (how == "sequential")


def test_one_gpu_alone_where_that_is_asked_for() -> None:
    deployed = on_several(model(), node=TWO, device_map="none")
    assert {entry.place for entry in deployed.entries(LOAD)} == {"gpu0"}
    assert [finding.rule for finding in deployed.findings] == ["KV348"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"device_map": "balance"}, "did you mean 'balanced' or 'balanced_low_0'?"),
        ({"max_memory": "0:4"}, "expected a size with a unit"),
        ({"max_memory": "0:4GiB,cpu:1GiB,0:2GiB"}, "max_memory names 0 twice"),
        ({"max_memory": "4GiB"}, "expected DEVICE:SIZE"),
        ({"max_memory": "gpu0:4GiB"}, "write it as 0:20GiB"),
        ({"max_memory": "2:4GiB"}, "max_memory names GPU 2, and there are 2"),
        ({"max_memory": "0:4GiB", "device_map": "none"}, "there is none"),
        ({"tp_size": "4"}, "tp_size=4: a process needs a GPU of its own, and there are 2"),
    ],
)
def test_wrong_words(flags: dict[str, str], words: str) -> None:
    with pytest.raises(RequestError) as raised:
        settings(model(), flags, node=TWO)
    assert words in f"{raised.value.message} {raised.value.hint}"


@given(
    how=st.sampled_from(["", "auto", "none", "sequential", "balanced_low_0"]),
    limits=st.sampled_from(["", "0:1MiB,1:2MiB,cpu:1GiB"]),
    where=st.sampled_from([TWO, node(24 * GIB), node(24 * GIB, 24 * GIB, 24 * GIB, ram=GIB)]),
)
def test_commands_give_back_their_settings(how: str, limits: str, where: Node) -> None:
    spec = model()
    said = {"device_map": how, "max_memory": limits if how != "none" and len(where.gpus) > 1 else ""}
    found = settings(spec, said, node=where)
    parsed = ENGINE.parse(ENGINE.command(found), {}, found.version)
    assert ENGINE.resolve(parsed, LOAD, spec, where, found.version) == found


@given(
    limits=st.sampled_from(["", "0:200KiB,1:300KiB,cpu:8MiB", "0:300KiB,cpu:100KiB", "1:400KiB"]),
    load=st.builds(
        lambda prompt, steps, batch: Workload(prompt + steps, batch, prompt), st.integers(1, 500), st.integers(0, 50), st.integers(1, 9)
    ),
)
def test_every_place_needs_the_sum_of_its_entries(limits: str, load: Workload) -> None:
    deployed = on_several(model(MIXTURE), node=TWO, max_memory=limits)
    entries = deployed.entries(load)
    for where in ("gpu0", "gpu1", "host"):
        assert deployed.need_bytes(where, load) == total(entry.size for entry in entries if entry.place == where)


def test_unknown_hardware_has_one_place() -> None:
    deployed = on_several(model(), device_map="auto")
    assert {entry.place for entry in deployed.entries(LOAD)} == {"gpu0"}
    assert deployed.need_bytes("gpu0", LOAD) != exactly(0)


@given(
    limits=st.sampled_from(["0:200KiB,1:300KiB,cpu:8MiB", "0:300KiB,cpu:8MiB", "0:400KiB,1:1GiB"]),
    load=st.builds(
        lambda prompt, steps, batch: Workload(prompt + steps, batch, prompt), st.integers(1, 400), st.integers(0, 9), st.integers(1, 9)
    ),
)
def test_more_context_or_batch_never_costs_less(limits: str, load: Workload) -> None:
    deployed = on_several(model(num_hidden_layers=6), node=TWO, max_memory=limits)
    for more in (load._replace(batch=load.batch + 1), load._replace(ctx_tokens=load.ctx_tokens + 1, prompt_tokens=load.prompt_tokens + 1)):
        for where in ("gpu0", "gpu1", "host"):
            pairs = zip(deployed.need_bytes(where, load), deployed.need_bytes(where, more), strict=True)
            assert all(before <= after for before, after in pairs), where
