"""Bytes of heads and states, blocks of a request, and the kernel that asks for them."""

import pytest

import kvplan
from kvplan.core.mixers import GatedDeltaNet, LinearAttention, Mamba1, RgLru, ShortConv
from kvplan.engines.vllm import states
from kvplan.engines.vllm.backends import DATA_CENTER_BLACKWELL, kernel, traits
from kvplan.engines.vllm.content import head_bytes, is_quantized
from kvplan.engines.vllm.demand import Demand, request_blocks
from kvplan.engines.vllm.pages import Form
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.slots import Slot

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
    assert request_blocks(slot, 1000, Demand(448, 320)) == n_blocks


def test_context_parallel_ranks_share_the_tokens() -> None:
    assert request_blocks(Slot("full", 16, 1), 1000, Demand(0, 0, dcp=2)) == 32
    assert request_blocks(Slot("full", 16, 1, spread=False), 1000, Demand(0, 0, dcp=2)) == 63


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
