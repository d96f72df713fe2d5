"""Groups and blocks beyond what the golden plans hold."""

import pytest

import kvplan
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import FullAttention, Mla, SlidingAttention
from kvplan.core.model import Layer, LayerRun, ModelSpec
from kvplan.core.stages import layer_counts
from kvplan.engines.vllm import states
from kvplan.engines.vllm.backends import DATA_CENTER_BLACKWELL, kernel, traits
from kvplan.engines.vllm.cache import cache, drafter, in_flight_tokens, resolved_dtype
from kvplan.engines.vllm.groups import CannotUnify, group
from kvplan.engines.vllm.pages import Form, Placed, layer_slots
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.settings import Speculative
from kvplan.engines.vllm.slots import Slot
from tests.engines.vllm.resolving import GEMMA, HYBRID, LLAMA, settled

NOW = engine_rules("0.33.0")
STATE = states.StateForm("bfloat16")
FORM = Form(1, 16, "auto", 2, STATE)
HOPPER, AMPERE, BLACKWELL = (9, 0), (8, 0), (DATA_CENTER_BLACKWELL, 0)


def layered(model: ModelSpec, layer: Layer) -> ModelSpec:
    return model._replace(runs=(LayerRun(1, layer),))


def slots_of(*mixers: FullAttention | SlidingAttention | Mla) -> list[Placed]:
    return [Placed(slot, 0) for mixer in mixers for slot in layer_slots(Layer((mixer,), (), ()), FORM)]


FULL = FullAttention(8, 8, 128, 128)
NARROW = FullAttention(8, 4, 96, 96)
WINDOW = SlidingAttention(8, 4, 96, 96, 512)
SAME_WINDOW = SlidingAttention(8, 8, 128, 128, 512)
LATENTS = Mla(8, 512, 64, 128, 128, None)


def test_pages_that_do_not_divide_are_padded() -> None:
    groups = group(slots_of(FULL, WINDOW), hybrid_manager=True, ratio=1.5)
    assert [(slot.page_bytes, slot.block_tokens) for found in groups for slot in found.slots] == [(65536, 16), (65536, 16)]


def test_layers_of_one_kind_share_a_table_whatever_their_width() -> None:
    (found,) = group(slots_of(FULL, NARROW), hybrid_manager=True, ratio=1.5)
    assert found.bytes_on(0) == 65536 + 24576


def test_windows_beside_latents_are_kept_as_full() -> None:
    (found,) = group(slots_of(LATENTS, SAME_WINDOW), hybrid_manager=True, ratio=1.5)
    assert {slot.kind for slot in found.slots} == {"mla", "full"}


def test_latents_beside_a_window_of_their_own() -> None:
    windowed = LATENTS._replace(window_tokens=512)
    assert [slot.kind for slot in layer_slots(Layer((windowed,), (), ()), FORM)] == ["sliding"]
    (found,) = group(slots_of(LATENTS, windowed), hybrid_manager=False, ratio=1.5)
    assert {slot.kind for slot in found.slots} == {"mla"}


def test_what_cannot_share_a_pool_says_so() -> None:
    state = Placed(Slot("state", 16, 65536, n_states=1, spread=False), 0)
    with pytest.raises(CannotUnify, match="page size is not divisible"):
        group([*slots_of(LATENTS), state], hybrid_manager=True, ratio=1.5)
    with pytest.raises(CannotUnify, match="Failed to promote"):
        group([*slots_of(FULL), state], hybrid_manager=False, ratio=1.5)


def test_groups_came_with_versions() -> None:
    members = slots_of(*[SAME_WINDOW] * 6, *[FULL] * 5)
    counts = {ratio: len(group(members, hybrid_manager=True, ratio=ratio)) for ratio in (0.0, 1.0, 1.25)}
    assert counts == {0.0: 1, 1.0: 3, 1.25: 2}
    assert group([], hybrid_manager=True, ratio=1.5) == ()


def test_groups_that_end_up_alike_are_one() -> None:
    small = FullAttention(8, 4, 128, 128)
    found = group([*slots_of(FULL), *slots_of(small)], hybrid_manager=True, ratio=1.5)
    assert len(found) == 1


def test_a_drafter_joins_the_last_stage() -> None:
    drafted = settled(
        '-pp 2 --speculative-config \'{"method": "mtp", "num_speculative_tokens": 1}\'', model=kvplan.load_model("deepseek-v3")
    )
    found = cache(kvplan.load_model("deepseek-v3"), drafted, NOW, HOPPER)
    assert [member.stage for found_group in found.pool.groups for member in found_group.members if member.draft] == [1]
    ngram = drafted._replace(speculative=Speculative("ngram", 3))
    assert drafter(LLAMA, ngram) == ()
    other = drafted._replace(speculative=Speculative("draft_model", 3, "tiny"))
    assert drafter(LLAMA, other) == ()
    assert drafter(LLAMA._replace(draft=GEMMA), other) == GEMMA.runs


def test_the_type_of_the_cache() -> None:
    asks = LLAMA._replace(kv_dtype="fp8")
    assert resolved_dtype(asks, settled(), NOW, HOPPER) == "fp8"
    assert resolved_dtype(asks, settled("--kv-cache-dtype bfloat16"), NOW, HOPPER) == "bfloat16"
    assert resolved_dtype(kvplan.load_model("falcon-7b"), settled("--kv-cache-dtype fp8"), NOW, HOPPER) == "auto"


@pytest.mark.parametrize(
    ("name", "version", "capability", "flags", "kept"),
    [
        pytest.param("glm-5", "0.33.0", BLACKWELL, "", "fp8_e4m3", id="the class asks for it"),
        pytest.param("glm-5", "0.28.0", BLACKWELL, "", "auto", id="not yet"),
        pytest.param("glm-5", "0.33.0", HOPPER, "", "auto", id="not on this card"),
        pytest.param("glm-5", "0.33.0", BLACKWELL, "--kv-cache-dtype bfloat16", "bfloat16", id="the user says otherwise"),
        pytest.param("deepseek-v3.2", "0.33.0", BLACKWELL, "", "auto", id="another class"),
        pytest.param("deepseek-v3.2", "0.11.0", HOPPER, "", "fp8_ds_mla", id="packed at first"),
        pytest.param("deepseek-v3.2", "0.12.0", HOPPER, "", "auto", id="not any more"),
        pytest.param("deepseek-v3", "0.11.0", HOPPER, "", "auto", id="nothing is picked"),
    ],
)
def test_sparse_latents_may_be_kept_in_fewer_bits(name: str, version: str, capability: tuple[int, int], flags: str, kept: str) -> None:
    model = kvplan.load_model(name)
    assert resolved_dtype(model, settled(flags, version, model), engine_rules(version), capability) == kept


def test_windows_keep_more_for_several_next_token_layers() -> None:
    window = Layer((SAME_WINDOW,), (), ())
    model = layered(LLAMA, window)._replace(mtp=(LayerRun(3, window),))

    def blocks(n_tokens: int, version: str = "0.33.0") -> int:
        drafted = settled(f"--max-num-batched-tokens 2049 --spec-method mtp --spec-tokens {n_tokens}", version, model)
        return cache(model, drafted, engine_rules(version), HOPPER).pool.request_blocks(4096 * 4)

    # 511 + 2 · 2049 tokens fill the last of 289 blocks but for 15; three tokens drafted retain two more before the window
    assert [blocks(n) for n in (1, 3)] == [290, 290]
    assert blocks(18) == blocks(1) + 1
    assert blocks(18, "0.26.0") == blocks(1, "0.26.0")


def test_tokens_in_flight() -> None:
    one = settled("--max-num-batched-tokens 2048")
    assert in_flight_tokens(one, NOW) == 4096
    assert in_flight_tokens(one._replace(pp=2), NOW) == 6144
    assert in_flight_tokens(one._replace(pp=2, v2_runner=False), NOW) == 4096
    assert in_flight_tokens(one, engine_rules("0.19.0")) == 2048


def test_windows_can_be_turned_off() -> None:
    mistral = kvplan.load_model("mistral-7b-v0.1")
    kinds = [cache(mistral, settled()._replace(sliding_window=on), NOW, HOPPER).pool.groups[0].slots[0].kind for on in (True, False)]
    assert kinds == ["sliding", "full"]


def test_the_state_of_every_block_aligns_blocks_to_the_scan() -> None:
    every = settled(model=HYBRID)._replace(mamba_cache_mode="all")
    assert cache(HYBRID, every, engine_rules("0.16.0"), HOPPER).form.block_tokens % states.SCAN_CHUNK == 0


def test_versions_without_groups_keep_states_apart() -> None:
    found = cache(HYBRID, settled(model=HYBRID), engine_rules("0.8.5"), HOPPER)
    assert {slot.kind for found_group in found.pool.groups for slot in found_group.slots} == {"full"}


def test_a_hybrid_of_latents_and_states() -> None:
    kimi = kvplan.load_model("kimi-linear-48b-a3b")
    found = cache(kimi, settled(model=kimi), NOW, HOPPER)
    # state: 3 · 12288 · 2 B + 32 · 128 · 128 · 4 B in pages of 1152 B a token, blocks a multiple of 128
    assert found.form.block_tokens == 1920
    eight = cache(kimi, settled("--kv-cache-dtype fp8", model=kimi), NOW, HOPPER)
    assert eight.form.block_tokens == 3840


def test_layers_that_read_another_s_cache_keep_none() -> None:
    model = kvplan.load_model("gemma-3n-e2b")
    found = cache(model, settled(model=model), NOW, HOPPER)
    kept = sum(layer.kv_source is None for layer in model.layers())
    assert sum(len(found_group.members) for found_group in found.pool.groups) == kept < model.n_layers


def test_layers_over_stages() -> None:
    assert layer_counts(32, 3) == (11, 11, 10)
    assert layer_counts(32, 2, (20, 12)) == (20, 12)
    assert layer_counts(32, 2, (20, 11)) == (16, 16)


@pytest.mark.parametrize(
    ("version", "capability", "tokens"),
    [
        pytest.param("0.9.2", HOPPER, 64, id="FlashMLA"),
        pytest.param("0.11.0", (10, 0), 128, id="CUTLASS"),
        pytest.param("0.17.1", (10, 0), 64, id="FlashInfer"),
        pytest.param("0.11.0", (8, 0), 16, id="none before Hopper"),
        pytest.param("0.33.0", HOPPER, 16, id="by the kernel"),
    ],
)
def test_blocks_of_latents_were_forced(version: str, capability: tuple[int, int], tokens: int) -> None:
    model = kvplan.load_model("deepseek-v3")
    assert cache(model, settled("-tp 8", version, model), engine_rules(version), capability).form.block_tokens == tokens


def test_a_flag_may_choose_the_kernel() -> None:
    model = kvplan.load_model("deepseek-v3")
    asked = settled("--attention-backend FLASHMLA -tp 8", model=model)
    assert cache(model, asked, NOW, HOPPER).form.block_tokens == 64


def test_compressed_caches_lie_side_by_side() -> None:
    # 64 entries of 584 B, 2 of them, 64 keys of 132 B, pages in steps of 576 B; windows of 43 layers in two groups of 22
    v4 = kvplan.load_model("deepseek-v4-flash")
    found = cache(v4, settled(model=v4), NOW, HOPPER)
    assert [len(found_group.members) for found_group in found.pool.groups] == [22, 21, 62, 42, 20]
    assert found.pool.block_bytes == (21 * 37_440 + 20 * 1_728 + 21 * 8_640,)
    assert kernel(traits(v4), "bfloat16", HOPPER, None) is None


def test_keys_that_pick_lie_beside_full_attention() -> None:
    picking = FullAttention(64, 4, 128, 128, Indexer(4, 128, 2048))
    model = layered(LLAMA, Layer((picking,), (), ()))
    found = cache(model, settled(), NOW, HOPPER)
    assert found.kernel is not None
    assert found.form.block_tokens == 128
    assert found.pool.block_bytes == (128 * (4 * 256 * 2 + 128 * 2),)
