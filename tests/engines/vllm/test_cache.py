"""Pages, blocks and groups beyond what the golden plans hold."""

import pytest

import kvplan
from kvplan.core.mixers import FullAttention, GatedDeltaNet, LinearAttention, Mamba1, Mla, RgLru, ShortConv, SlidingAttention
from kvplan.core.model import Layer, ModelSpec
from kvplan.engines.vllm import states
from kvplan.engines.vllm.backends import DATA_CENTER_BLACKWELL, kernel, traits
from kvplan.engines.vllm.cache import cache, drafter, in_flight_tokens, resolved_dtype
from kvplan.engines.vllm.content import head_bytes, is_quantized
from kvplan.engines.vllm.groups import CannotUnify, group
from kvplan.engines.vllm.pages import Form, Placed, Slot, layer_slots, request_blocks
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.settings import Speculative
from kvplan.engines.vllm.stages import layer_counts
from tests.engines.vllm.resolving import GEMMA, HYBRID, LATENT, LLAMA, settled

NOW = engine_rules("0.33.0")
STATE = states.StateForm("bfloat16")
FORM = Form(1, 16, "auto", 2, STATE)
HOPPER, AMPERE, BLACKWELL = (9, 0), (8, 0), (DATA_CENTER_BLACKWELL, 0)


@pytest.mark.parametrize(
    ("kv_dtype", "n_bytes"),
    [
        # vLLM 0.33.0's own specs for a head of 128: bfloat16, fp8, per token, packed
        pytest.param("auto", 512, id="model's type"),
        pytest.param("bfloat16", 512, id="named"),
        pytest.param("fp8", 256, id="fp8"),
        pytest.param("int8_per_token_head", 264, id="int8"),
        pytest.param("int4_per_token_head", 136, id="int4"),
        pytest.param("nvfp4", 144, id="nvfp4"),
        pytest.param("turboquant_k8v4", 196, id="k8v4"),
        pytest.param("turboquant_4bit_nc", 134, id="4bit"),
        pytest.param("turboquant_k3v4_nc", 118, id="k3v4"),
        pytest.param("turboquant_3bit_nc", 102, id="3bit"),
    ],
)
def test_bytes_of_a_head(kv_dtype: str, n_bytes: int) -> None:
    assert head_bytes(kv_dtype, 128, 128, 2) == n_bytes
    assert is_quantized(kv_dtype) == (n_bytes < 512)


@pytest.mark.parametrize(
    ("slot", "n_blocks"),
    [
        pytest.param(Slot("full", 16, 1), 63, id="full"),
        pytest.param(Slot("sliding", 16, 1, window_tokens=129), 37, id="window and what is in flight, one more for its start"),
        pytest.param(Slot("chunked", 16, 1, window_tokens=128), 36, id="chunk"),
        pytest.param(Slot("cross", 16, 1), 20, id="an encoder's tokens"),
        pytest.param(Slot("state", 0, 1, n_states=3), 3, id="states"),
        pytest.param(Slot("block_state", 256, 1, n_states=1), 4, id="a state for each block"),
        pytest.param(Slot("full", 16, 1, spread=False), 63, id="whole on each rank"),
    ],
)
def test_blocks_of_a_request(slot: Slot, n_blocks: int) -> None:
    assert request_blocks(slot, 1000, 448, 1, 320) == n_blocks


def test_context_parallel_ranks_share_the_tokens() -> None:
    assert request_blocks(Slot("full", 16, 1), 1000, 0, 2, 0) == 32
    assert request_blocks(Slot("full", 16, 1, spread=False), 1000, 0, 2, 0) == 63


STATES = [
    # inner 4096 · (K − 1 = 3) · 2 B + 4096 · 16 · 2 B; then as vLLM's MambaStateShapeCalculator shapes them
    pytest.param(Mamba1(4096, 16, 4, 128), 1, 4096 * 3 * 2 + 4096 * 16 * 2, id="mamba1"),
    pytest.param(Mamba1(4096, 16, 4, 128), 2, 2048 * 3 * 2 + 2048 * 16 * 2, id="mamba1 over two"),
    pytest.param(GatedDeltaNet(16, 32, 128, 128, 4), 2, 4096 * 3 * 2 + 16 * 128 * 128 * 2, id="gated delta"),
    pytest.param(GatedDeltaNet(32, 32, 128, 128, 4, per_channel=True), 1, 12288 * 3 * 2 + 32 * 128 * 128 * 4, id="Kimi's in float32"),
    pytest.param(LinearAttention(64, 128, 128), 8, 8 * 128 * 128 * 2, id="lightning"),
    pytest.param(ShortConv(2048, 3), 1, 2048 * 2 * 2, id="short convolution"),
    pytest.param(RgLru(2560, 4), 1, 0, id="a kind that vLLM does not run"),
]


@pytest.mark.parametrize(("mixer", "tp", "n_bytes"), STATES)
def test_bytes_of_a_state(mixer: Mamba1 | GatedDeltaNet | LinearAttention | ShortConv | RgLru, tp: int, n_bytes: int) -> None:
    assert states.state_bytes(mixer, tp, STATE) == n_bytes


def test_states_follow_their_flags() -> None:
    net = GatedDeltaNet(16, 32, 128, 128, 4, "float32")
    plain = states.state_bytes(net, 1, STATE)
    assert states.state_bytes(net, 1, STATE._replace(ssm_dtype="bfloat16")) == plain - 32 * 128 * 128 * 2
    assert states.state_bytes(net, 1, STATE._replace(n_drafted=2)) == plain + net.conv_dim * 2 * 2


@pytest.mark.parametrize(
    ("capability", "tokens"),
    [pytest.param(HOPPER, 64, id="Hopper"), pytest.param(AMPERE, None, id="Ampere"), pytest.param((12, 0), 64, id="Blackwell")],
)
def test_prefills_export_states_where_the_kernel_can(capability: tuple[int, int], tokens: int | None) -> None:
    assert states.checkpoint_tokens(GatedDeltaNet(16, 32, 128, 128, 4), capability) == tokens


@pytest.mark.parametrize(
    ("model", "kv_dtype", "capability", "block", "name", "step"),
    [
        pytest.param("deepseek-v3", "auto", HOPPER, None, "FLASH_ATTN_MLA", 16, id="latent"),
        pytest.param("deepseek-v3", "fp8", HOPPER, None, "FLASHMLA", 64, id="latent in 8 bits"),
        pytest.param("deepseek-v3", "fp8", HOPPER, 16, "TRITON_MLA", 16, id="a block that excludes a kernel"),
        pytest.param("deepseek-v3", "fp8", AMPERE, None, "TRITON_MLA", 16, id="latent before Hopper"),
        pytest.param("deepseek-v3", "auto", BLACKWELL, None, "FLASHINFER_MLA", 32, id="latent on Blackwell"),
        pytest.param("deepseek-v3.2", "auto", BLACKWELL, None, "FLASHMLA_SPARSE", 64, id="sparse on Blackwell"),
        pytest.param("deepseek-v3.2", "fp8", BLACKWELL, None, "FLASHINFER_MLA_SPARSE", 64, id="sparse in 8 bits on Blackwell"),
        pytest.param("llama-2-7b", "nvfp4", BLACKWELL, None, "FLASHINFER", 16, id="nvfp4"),
        pytest.param("llama-2-7b", "fp8", AMPERE, None, "TRITON_ATTN", 16, id="fp8 before Hopper"),
    ],
)
def test_the_kernel(model: str, kv_dtype: str, capability: tuple[int, int], block: int | None, name: str, step: int) -> None:
    found = kernel(traits(kvplan.load_model(model)), kv_dtype, capability, block)
    assert found is not None
    assert (found.name, found.step) == (name, step)


def layered(model: ModelSpec, *layers: Layer) -> ModelSpec:
    return model._replace(runs=tuple(run._replace(n_layers=1, layer=layer) for layer in layers for run in model.runs[:1]))


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
    assert resolved_dtype(asks, settled()) == "fp8"
    assert resolved_dtype(asks, settled("--kv-cache-dtype bfloat16")) == "bfloat16"
    assert resolved_dtype(kvplan.load_model("falcon-7b"), settled("--kv-cache-dtype fp8")) == "auto"


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


def test_layers_over_stages() -> None:
    assert layer_counts(32, 3) == (11, 11, 10)
    assert layer_counts(32, 2, (20, 12)) == (20, 12)
    assert layer_counts(32, 2, (20, 11)) == (16, 16)


def test_compressed_caches_are_left_out() -> None:
    v4 = kvplan.load_model("deepseek-v4-flash")
    assert cache(v4, settled(model=v4), NOW, HOPPER).pool.groups == ()
    assert traits(LATENT).latent
