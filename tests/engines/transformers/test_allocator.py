"""What the caching allocator holds beside tensors: by an order of tensors, or by shares of replayed traces."""

import json
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from kvplan.core.allocator import Block, CachingAllocator
from kvplan.core.ledger import Interval
from kvplan.core.units import MIB
from kvplan.core.workload import Workload
from kvplan.engines.transformers import segments
from kvplan.engines.transformers.fragments import Fragments, fragments, replayed, shape
from kvplan.engines.transformers.holes import Holes, Place
from kvplan.engines.transformers.plan import compile_plan
from kvplan.engines.transformers.reserved import rounding
from kvplan.engines.transformers.rules import RULES
from kvplan.engines.transformers.segments import ROUNDED_UP, Load, Segments
from kvplan.engines.transformers.shapes import SHAPES
from kvplan.engines.transformers.shares import SHARES, Share
from kvplan.verifier.configs import config_of
from tests.engines.transformers.running import LATENT, MIXTURE, SMALL, by_term, deployment, gpu, model, settings

FOUND = Fragments(low=100, best=200, high=300, beyond=50, n_segments=3, alive=2000, widest=500, cached=20 * MIB)
REPLAYS = Path(__file__).parents[2] / "data" / "traces" / "transformers-5.24.0-allocator.jsonl"


class Replay(NamedTuple):
    """A traced run: tensors alive at its peak beside the weights, and bytes reserved beside weights that are one segment, and beside
    weights that were moved to the GPU one by one, the rounding of those included; the same with expandable segments."""

    model: str
    cache: str
    ctx: int
    batch: int
    steps: int
    alive: int
    alone: int
    each: int
    alone_in_range: int
    each_in_range: int


def replays() -> list[Replay]:
    return [Replay(*json.loads(line)) for line in REPLAYS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", sorted({row.model for row in replays()}))
def test_intervals_hold_every_replay(name: str) -> None:
    config = config_of(name)
    text = config.get("text_config")
    if isinstance(text, dict) and "num_hidden_layers" in text:
        config = text
    spec = model({key: value for key, value in config.items() if key != "quantization_config"})
    for row in (row for row in replays() if row.model == name):
        for segments_too, sizes in (("False", (row.alone, row.each)), ("True", (row.alone_in_range, row.each_in_range))):
            flags = {"dtype": "bfloat16", "cache_implementation": row.cache, "expandable_segments": segments_too}
            found = by_term(deployment(spec, flags, node=gpu()).entries(Workload(row.ctx, row.batch, row.ctx - row.steps)))["allocator"]
            alive = int(found.inputs["transient"])
            assert abs(alive - row.alive) <= row.alive // 50, row
            for reserved in sizes:
                assert found.size.low <= reserved - alive <= found.size.high, (row, flags, found.size, reserved - alive)


@pytest.mark.parametrize("expandable", ["False", "True"])
@pytest.mark.parametrize("name", ["llama-2-7b", "gemma-2b", "mixtral-8x7b"])
def test_remembered_shapes_are_what_replays_have(name: str, expandable: str) -> None:
    spec = model(config_of(name))
    plan = compile_plan(spec, settings(spec, {"expandable_segments": expandable}), RULES[-1])
    found = replayed(spec, plan)
    assert found
    assert SHAPES[shape(spec, plan)] == tuple(found)
    assert fragments(spec, plan, SHAPES) == fragments(spec, plan)


def test_a_family_without_an_order_has_no_fragments() -> None:
    spec = model({**SMALL, "model_type": "starcoder2"})
    assert fragments(spec, compile_plan(spec, settings(spec), RULES[-1])) is None


def test_holes_are_those_of_the_allocator_with_large_blocks() -> None:
    chance = random.Random(5)
    for _ in range(20):
        real, holes = CachingAllocator(), Holes(0)
        blocks: list[tuple[Block, Place]] = []
        for _ in range(200):
            if blocks and chance.random() < 0.45:
                block, place = blocks.pop(chance.randrange(len(blocks)))
                real.free(block)
                holes.free(place)
            else:
                size = 2 * MIB * chance.choice((5, 6, 7, 12, 13, 24))
                blocks.append((real.malloc(size), holes.malloc(size)))
            assert holes.reserved == real.reserved_bytes


def test_a_rest_within_the_slack_goes_with_its_block() -> None:
    holes = Holes(3)
    first = holes.malloc(10)
    holes.free(first)
    assert first[1] == 13
    assert holes.malloc(11) == first
    assert (holes.reserved, holes.n_segments) == (10, 1)


def test_an_order_is_closer_than_a_share() -> None:
    share = SHARES["fixed", True]
    load = Load(prompt=1000 * MIB, decode=100 * MIB, copies=0, widest=200 * MIB)
    close, wide = Segments(share, FOUND, 0, 0).size(load), Segments(share, None, 0, 0).size(load)
    short = 2000 * 20 * MIB // (20 * MIB)
    assert close == Interval(100 * MIB - ROUNDED_UP, 200 * MIB, 300 * MIB + short * 50 // 1000 + 6 * MIB + ROUNDED_UP)
    assert wide.low < close.low
    assert wide.high > close.high


@pytest.mark.parametrize(
    ("copies", "widest", "new"),
    [
        pytest.param(0, 0, 0, id="none"),
        pytest.param(90, 0, 90, id="no room"),
        pytest.param(90, 60, 60, id="room for the smaller part"),
        pytest.param(90, 90, 0, id="room for all"),
    ],
)
def test_copies_of_experts_find_room_in_what_the_prompt_left(copies: int, widest: int, new: int) -> None:
    assert Load(100, 50, copies, widest).new == new


def test_what_is_alive_is_never_reserved_twice() -> None:
    """Copies that are alive at the peak need their own segments; the allocator's part is what the prompt left behind."""
    size = Segments(SHARES["fixed", True], FOUND, 0, 0).size(Load(1000, 500, 900, 0))
    assert size.best == 1000 * 200 // 1000 + 1000 + 900 - 1400
    assert size.low == 0


def test_a_cache_that_grows_leaves_the_segments_of_small_tensors() -> None:
    share, load = SHARES["expandable", True], Load(10, 1000, 0, 0)
    assert Segments(share, None, 0, 64).size(load).high - Segments(share, None, 0, 0).size(load).high == 64


@pytest.mark.parametrize(("key", "share"), SHARES.items(), ids=["fixed", "expandable", "fixed, uneven", "expandable, uneven"])
def test_shares_hold_their_rows(key: tuple[str, bool], share: Share) -> None:
    for row in share.rows:
        held = row.fixed if key[0] == "fixed" else row.expandable
        assert share.low <= held <= share.high, row
    assert Segments(share, None, 0, 0).basis == ("calibrated" if len(share.models) >= 3 else "modeled")


@pytest.mark.parametrize(
    ("config", "flags", "share"),
    [
        pytest.param({**SMALL, "model_type": "starcoder2"}, {"expandable_segments": "True"}, ("expandable", True), id="expandable"),
        pytest.param(SMALL, {"cache_implementation": "static"}, ("fixed", True), id="static"),
        pytest.param(SMALL, {"padding": "left"}, ("fixed", True), id="padded"),
        pytest.param(SMALL, {"dtype": "float32"}, ("fixed", False), id="float32, whose grouped heads have scores in memory"),
        pytest.param(LATENT, {"expandable_segments": "True"}, ("expandable", False), id="latent attention"),
        pytest.param(SMALL, {"attn_implementation": "eager", "expandable_segments": "True"}, ("expandable", False), id="eager"),
        pytest.param({**SMALL, "model_type": "starcoder2"}, {}, ("fixed", True), id="no order"),
    ],
)
def test_which_share(config: dict[str, object], flags: dict[str, str], share: tuple[str, bool]) -> None:
    entry = by_term(deployment(model(config), flags, node=gpu()).entries(Workload(40, 2, 30)))["allocator"]
    assert (entry.inputs["low"], entry.inputs["high"]) == (SHARES[share].low, SHARES[share].high)


@pytest.mark.parametrize("name", ["llama-3.1-8b", "mixtral-8x7b", "gemma-3-1b"])
def test_an_order_says_so(name: str) -> None:
    entry = by_term(deployment(model(config_of(name)), node=gpu()).entries(Workload(40, 2, 30)))["allocator"]
    assert entry.basis == "modeled"
    assert "order" in entry.source
    assert "segments" in entry.inputs


def test_an_order_of_tensors_that_a_model_does_not_have_is_not_its_own() -> None:
    without = model({**LATENT, "q_lora_rank": None})
    assert "segments" not in by_term(deployment(without, node=gpu()).entries(Workload(40, 2, 30)))["allocator"].inputs


def test_weights_are_rounded_up_to_segments() -> None:
    wide = model({**SMALL, "hidden_size": 2048, "intermediate_size": 2900, "num_hidden_layers": 1, "vocab_size": 100})
    # 11.33 MiB three times, each in 12; queries and output 8 MiB, of which two fill 20; keys and values 4 MiB, five of them
    assert rounding(wide, "bfloat16") == 3 * (12 * MIB - 2 * 2048 * 2900) + 2 * 2 * MIB


def test_need_grows_with_the_prompt_and_the_batch() -> None:
    deployed = deployment(model(MIXTURE), node=gpu())
    for before, after in ((Workload(64, 1, 60), Workload(640, 1, 636)), (Workload(640, 1, 636), Workload(640, 8, 636))):
        less, more = deployed.need_bytes("gpu0", before), deployed.need_bytes("gpu0", after)
        assert all(a <= b for a, b in zip(less, more, strict=True))


def test_entry_of_segments() -> None:
    found = segments.entry(Segments(SHARES["fixed", True], None, 0, 0), Load(800, 100, 40, 0))
    assert found.inputs["new"] == 40
    assert found.basis == "calibrated"
