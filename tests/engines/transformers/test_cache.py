"""What caches keep: numbers of real models, every mixer, every cache class."""

import pytest

from kvplan.core.indexer import Indexer
from kvplan.core.mixers.chunked import ChunkedAttention
from kvplan.core.mixers.compressed import CompressedAttention
from kvplan.core.mixers.cross import CrossAttention
from kvplan.core.mixers.full import FullAttention
from kvplan.core.mixers.gated_delta import GatedDeltaNet
from kvplan.core.mixers.linear import LinearAttention
from kvplan.core.mixers.mamba1 import Mamba1
from kvplan.core.mixers.mamba2 import Mamba2
from kvplan.core.mixers.mla import Mla
from kvplan.core.mixers.rg_lru import RgLru
from kvplan.core.mixers.rwkv import Rwkv
from kvplan.core.mixers.short_conv import ShortConv
from kvplan.core.mixers.sliding import SlidingAttention
from kvplan.core.model import DenseFfn, Layer
from kvplan.core.workload import Workload
from kvplan.engines.transformers.cache import Rule, entry_bytes, ideal_bytes, state_bytes, store
from tests.engines.transformers.running import deployment, model

GEMMA_3_27B: dict[str, object] = {
    "model_type": "gemma3_text",
    "vocab_size": 262208,
    "hidden_size": 5376,
    "intermediate_size": 21504,
    "num_hidden_layers": 62,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
}
LLAMA_2_7B: dict[str, object] = {
    "model_type": "llama",
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
DEEPSEEK_V3: dict[str, object] = {
    "model_type": "deepseek_v3",
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}


@pytest.mark.parametrize(
    ("config", "prompt", "ideal", "reserved"),
    [
        # 10 layers · 4096 + 52 · 1024 tokens, 8192 B each; after the prompt all 62 layers still hold all of it
        pytest.param(GEMMA_3_27B, 4096, 6_174_015_488, 16_642_998_272, id="gemma-3-27b, whole context as prompt"),
        pytest.param(GEMMA_3_27B, 4095, 6_174_015_488, 16_638_935_040, id="gemma-3-27b, one token to go"),
        # 2 · 32 · 128 elements · 2 B · 32 layers · 4096 · 8
        pytest.param(LLAMA_2_7B, 4095, 17_179_869_184, 17_179_869_184, id="llama-2-7b"),
        # (512 + 64) · 2 B · 61 layers · 4096 · 8
        pytest.param(DEEPSEEK_V3, 4095, 2_302_672_896, 2_302_672_896, id="deepseek-v3"),
    ],
)
def test_bytes_of_real_models(config: dict[str, object], prompt: int, ideal: int, reserved: int) -> None:
    found = deployment(model(config)).kv(Workload(4096, 8, prompt))
    assert (found.ideal_bytes, found.reserved_bytes) == (ideal, reserved)


def test_groups_of_gemma() -> None:
    found = deployment(model(GEMMA_3_27B)).kv(Workload(4096, 8, 4095))
    assert [tuple(group) for group in found.groups] == [("sliding", 52, 1024, 8192), ("full", 10, None, 8192)]
    assert found.bytes_per_token == 62 * 8192
    assert found.marginal_bytes_per_token == 10 * 8192  # full windows add nothing
    assert (found.k_dtype, found.v_dtype) == ("bfloat16", "bfloat16")


@pytest.mark.parametrize(
    ("mixer", "slots", "fixed", "state", "ideal"),
    [
        # elements of 2 bytes; float32 states; ideal after 100 tokens
        pytest.param(FullAttention(8, 2, 16, 8), [(None, 1, 64, 32)], 0, 0, 100 * 96, id="full"),
        pytest.param(SlidingAttention(8, 2, 16, 16, 10), [(10, 1, 64, 64)], 0, 0, 10 * 128, id="sliding"),
        pytest.param(ChunkedAttention(8, 2, 16, 16, 10), [(10, 1, 64, 64)], 0, 0, 10 * 128, id="chunked"),
        pytest.param(Mla(8, 32, 8, 16, 16, None), [(None, 1, 64, 16)], 0, 0, 100 * 80, id="mla"),
        pytest.param(
            Mla(8, 32, 8, 16, 16, None, Indexer(4, 12, 5, pool_tokens=2)),
            [(None, 1, 64, 16), (None, 2, 24, 0)],
            2 * 2 * 12,
            0,
            100 * 80 + 2 * 12 * (50 + 2),
            id="mla with pooled indexer keys",
        ),
        pytest.param(CompressedAttention(8, 1, 32, 10, 4), [(10, 1, 64, 0), (None, 4, 64, 0)], 384, 0, 64 * 35 + 384, id="compressed"),
        pytest.param(CompressedAttention(8, 1, 32, 10, 0), [(10, 1, 64, 0)], 0, 0, 64 * 10, id="a window alone"),
        pytest.param(CrossAttention(8, 2, 16, 50), [], 2 * 50 * 64, 0, 2 * 50 * 64, id="cross"),
        pytest.param(Mamba1(32, 16, 4, 8), [], 0, 4 * 512 + 2 * 32 * 4, 0, id="mamba1"),
        pytest.param(Mamba2(4, 8, 16, 1, 4), [], 0, 4 * 512 + 2 * 64 * 4, 0, id="mamba2"),
        pytest.param(GatedDeltaNet(2, 4, 8, 16, 4), [], 0, 4 * 512 + 2 * 96 * 4, 0, id="gated delta"),
        pytest.param(LinearAttention(4, 8, 8), [], 0, 2 * 256, 0, id="lightning"),
        pytest.param(LinearAttention(4, 8, 8, normalizer=9), [], 0, 4 * 4 * 73, 0, id="mlstm"),
        pytest.param(ShortConv(64, 3), [], 0, 2 * 64 * 3, 0, id="short convolution"),
        pytest.param(Rwkv(64, 64, 1, normalizer=2), [], 0, 4 * 192 + 2 * 128, 0, id="rwkv"),
        pytest.param(RgLru(64, 4), [], 0, 2 * (64 + 256), 0, id="rg-lru"),
    ],
)
def test_every_mixer(mixer: FullAttention, slots: list[tuple[object, ...]], fixed: int, state: int, ideal: int) -> None:
    found = store(Layer((mixer,), (DenseFfn(1),), ()), "bfloat16", 2)
    assert [(slot.rule.window, slot.rule.ratio, slot.key_bytes, slot.value_bytes) for slot in found.slots] == slots
    assert (found.fixed_bytes, found.tail_bytes, found.state_bytes) == (fixed, 0, state)
    assert state_bytes(mixer, 2) == state
    assert ideal_bytes(mixer, 100, 2) == ideal


def test_layers_that_borrow_keep_nothing() -> None:
    assert store(Layer((FullAttention(8, 2, 16, 16),), (), (), kv_source=0), "bfloat16", 2) == store(Layer((), (), ()), "bfloat16", 2)


def test_borrowed_keys_are_attended_to_where_they_are_kept() -> None:
    config: dict[str, object] = {
        "model_type": "gemma3n_text",
        "vocab_size": 100,
        "vocab_size_per_layer_input": 100,
        "hidden_size": 64,
        "hidden_size_per_layer_input": 8,
        "intermediate_size": 96,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "num_kv_shared_layers": 2,
        "altup_num_inputs": 2,
        "laurel_rank": 4,
        "activation_sparsity_pattern": [0.0] * 4,
    }
    found = deployment(model(config)).kv(Workload(40, 1, 20))
    assert [(group.kind, group.n_layers) for group in found.groups] == [("sliding", 1), ("full", 1)]
    assert found.reserved_bytes == 128 * (8 + 40)


def test_integers_carry_scales_and_a_tail() -> None:
    # transformers 5.24 QuantizedCache: groups of 64 with a scale and a zero point in the model's type, 128 tokens as they came
    assert entry_bytes(128, "int4", 2) == 64 + 2 * 2 * 2
    assert entry_bytes(130, "int8", 2) == 130 + 2 * 2 * 3
    assert entry_bytes(128, "float8_e4m3fn", 2) == 128
    assert entry_bytes(0, "int4", 2) == 0
    found = store(Layer((FullAttention(8, 2, 32, 32),), (), ()), "int4", 2)
    assert found.tail_bytes == found.fixed_bytes == 128 * 2 * 128


def test_rules() -> None:
    assert Rule().kept(100) == 100
    assert Rule(window=10).kept(5) == 5
    assert Rule(window=10).kept(100) == 10
    assert Rule(ratio=4).kept(103) == 25


@pytest.mark.parametrize(
    ("flags", "reserved"),
    [
        # 3 layers · 2 · 2 heads · 16 · 2 B = 384 B a token
        pytest.param({}, 384 * 40, id="dynamic"),
        pytest.param({"cache_implementation": "static"}, 384 * 40, id="static"),
        pytest.param({"kv_dtype": "float8_e4m3fn"}, 192 * 40, id="fp8"),
        pytest.param({"kv_dtype": "int8"}, (192 + 3 * 2 * 4) * 40 + 384 * 128, id="int8 with scales, and a tail"),
    ],
)
def test_cache_classes(flags: dict[str, str], reserved: int) -> None:
    assert deployment(model(), flags).kv(Workload(40, 1, 30)).reserved_bytes == reserved


def test_a_static_window_is_cut_from_the_start() -> None:
    spec = model(model_type="mistral", sliding_window=16)
    assert deployment(spec, cache_implementation="static").kv(Workload(40, 2, 30)).reserved_bytes == 2 * 384 * 16
    assert deployment(spec).kv(Workload(40, 2, 30)).reserved_bytes == 2 * 384 * 30  # the dynamic window still holds the prompt
    assert deployment(spec).kv(Workload(40, 2, 40)).reserved_bytes == 2 * 384 * 40
