"""Whether a load fits: in the pool, not on the card; and what is said where it does not."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

import kvplan as api
from kvplan.core.device import budget_node
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.vllm.deployment import Deployment
from kvplan.estimator import Estimate, Options, answer
from tests.engines.vllm.resolving import GEMMA, HYBRID, LLAMA, NOWHERE, card, settled
from tests.running import Run

MODELS = {model.id: model for model in (LLAMA, GEMMA, HYBRID)}
GIVEN = ("vllm", "serve", "llama-2-7b", "--max-model-len", "4096", "--kv-cache-memory-bytes", str(40 * GIB))


def asked(batch: int, *flags: str, gpu: str = "h100-sxm", ctx: int = 4096) -> Estimate:
    return answer(Options(command=(*GIVEN[:5], *flags), ctx=str(ctx), batch=str(batch), gpu=gpu))


def test_usable_is_the_share_and_what_lies_outside_it() -> None:
    # 79.19 GiB: vLLM takes 0.92 of it, and the context came before (0.51 GiB); whole blocks of 8 MiB
    found = asked(8)
    (place,) = found.places
    assert place.place.capacity_bytes is not None
    assert place.usable_bytes is not None
    share = place.place.capacity_bytes * 0.92 + 0.51 * GIB
    assert share - 8 * 2**20 - 2 < place.usable_bytes <= share + 2


def test_headroom_is_what_is_free_of_the_pool() -> None:
    # 4096 tokens are 256 blocks of 16; one more stands for freed ones
    found = asked(8)
    assert found.capacity is not None
    assert found.capacity.n_blocks is not None
    assert found.headroom_bytes == (found.capacity.n_blocks - 8 * 256 - 1) * 8 * 2**20


def test_a_given_pool_is_all_there_is() -> None:
    # 40 GiB are 5120 blocks: 19 sequences of 256 and the null block leave 255
    found = answer(Options(command=GIVEN, batch="19", gpu="h100-sxm"))
    assert found.headroom_bytes == 255 * 8 * 2**20
    assert answer(Options(command=GIVEN, batch="20", gpu="h100-sxm")).verdict == "does_not_fit"


def test_no_pool_is_larger_than_its_card() -> None:
    huge = answer(Options(command=(*GIVEN[:-1], str(200 * GIB)), gpu="h100-sxm"))
    assert huge.places[0].usable_bytes == huge.places[0].place.usable_bytes
    assert huge.verdict == "fits"


@pytest.mark.parametrize("node", [NOWHERE, card("h100-sxm", 2)], ids=["no card", "an idle card"])
def test_where_the_engine_sets_no_limit(node: object) -> None:
    found = Deployment(LLAMA, settled(), node)  # type: ignore[arg-type]
    assert found.usable_bytes("gpu1") is None
    assert found.usable_bytes("gpu0") is None or node is not NOWHERE


def test_a_pool_without_a_card_holds_what_it_holds() -> None:
    # 2 GiB are 256 blocks of 8 MiB: the null block leaves 255, of 64 each
    capacity = Deployment(LLAMA, settled(f"--kv-cache-memory-bytes {2 * GIB}"), NOWHERE).capacity(Workload(1024, 1, 1023))
    assert capacity is not None
    assert capacity.max_batch == 3


@limits(max_examples=40)
@given(st.sampled_from(sorted(MODELS)), st.integers(12, 100), st.integers(1, 8192))
def test_the_largest_batch_is_the_last_that_fits_for_certain(name: str, gib: int, ctx: int) -> None:
    node = budget_node(gib * GIB)
    found = Deployment(MODELS[name], settled("--max-model-len 8192", model=MODELS[name], node=node), node)
    load = Workload(ctx, 1, ctx)
    capacity, usable = found.capacity(load), found.usable_bytes("gpu0")
    assert capacity is not None
    assert usable is not None
    most = capacity.max_batch or 0
    if most:
        assert found.need_bytes("gpu0", load._replace(batch=most)).high <= usable
    if most < 1024:  # vLLM's limit of sequences, 256 on smaller cards
        assert most == 256 or found.need_bytes("gpu0", load._replace(batch=most + 1)).high > usable


def test_every_stage_must_hold_the_load() -> None:
    found = Deployment(LLAMA, settled("-pp 2 --max-model-len 4096", node=card("h100-sxm", 2)), card("h100-sxm", 2))
    capacity = found.capacity(Workload(4096, 1, 4095))
    assert capacity is not None
    batch = capacity.max_batch or 0
    fits = [found.need_bytes(place, Workload(4096, batch, 4095)).high <= (found.usable_bytes(place) or 0) for place in ("gpu0", "gpu1")]
    assert all(fits)


def test_more_than_the_pool_holds_is_no_failure() -> None:
    # 40 GiB hold 19 sequences of 4096; what the rest of the card takes is not known to the block
    found = answer(Options(command=(*GIVEN, "--max-num-seqs", "64"), batch="64", gpu="h100-sxm"))
    (said,) = [finding for finding in found.findings if finding.rule == "KV325"]
    assert said.level == "warning"
    assert said.message.startswith("the pool holds about 19 of 64 sequences of 4,096 tokens (")
    assert "vllm does not run out of memory, it lets the others wait" in said.message


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(asked(8), id="all run"),
        pytest.param(asked(8, gpu="rtx-3060-12"), id="it does not start"),
        pytest.param(answer(Options(command=GIVEN, batch="64")), id="no card"),
        pytest.param(api.estimate("llama-2-7b", ctx=4096, batch=64, gpu="h100-sxm"), id="no pool"),
    ],
)
def test_of_which_nothing_is_said(found: Estimate) -> None:
    assert "KV325" not in {finding.rule for finding in found.findings}


def test_the_text_names_things_for_what_they_are(kvplan: Run) -> None:
    # vLLM 0.33's own numbers for 40 GiB: 5120 blocks, 81,920 tokens, 20.00x; Llama-2 was made for 4096 positions
    out = kvplan("estimate", "--batch", "8", "--gpu", "h100-sxm", "--", *GIVEN).out
    assert "pool: 5,120 blocks of 16 tokens; vllm starts with sequences of up to 4,096 tokens\n" in out
    assert "vllm prints 81,920 tokens, 20.00 requests of 4,096\n" in out
    assert "largest context at batch" not in out
    fitted = kvplan("estimate", "--gpu", "h100-sxm", "--", *GIVEN[:4], "-1", *GIVEN[5:]).out
    assert "vllm prints 81,920 tokens, 20.00 requests\n" in fitted
    refused = kvplan("estimate", "--gpu", "h100-sxm", "--", *GIVEN[:-1], str(2**23)).out
    assert "vllm prints" not in refused
    assert "pool: 1 blocks of 16 tokens; vllm starts with no sequence, however short\n" in refused
    assert "largest batch at 4,096 tokens: none\n" in refused
    free = kvplan("estimate", "llama-2-7b", "--engine", "vllm", "--gpu", "h100-sxm").out
    assert "fits on h100-sxm: 73.36 GiB of 79.19 GiB usable" in free


def test_the_answer_in_json_compares_needed_with_usable(kvplan: Run) -> None:
    found = json.loads(
        kvplan("estimate", "gemma-3-27b", "--ctx", "32k", "--batch", "64", "--engine", "vllm", "--gpu", "h200", "--json").out
    )
    (place,) = found["places"]
    assert place["usable_bytes"] < place["capacity_bytes"]
    assert found["headroom_bytes"] == place["usable_bytes"] - place["needed_bytes"]
    assert found["verdict"] == "does_not_fit"
