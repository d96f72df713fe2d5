"""What each architecture's layers keep, by small headers: the expected kinds are worked out from the source named in each module.

A label is that of tests/specs/test_families.py: ``full``, ``sliding:8``, ``mla+indexer``, ``shared``, ``none``.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from kvplan import _discover
from kvplan.core.mixers import Mla
from kvplan.core.model import Layer, ModelSpec
from kvplan.specs.gguf.archs import plain
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.likeness import ARCHS
from kvplan.specs.gguf.values import Value
from tests.gguf.making import NORM, blocks, header
from tests.specs.test_families import label

# fmt: off
WINDOW: dict[str, Value] = {"attention.sliding_window": 8}
LISTED: dict[str, Value] = {**WINDOW, "attention.sliding_window_pattern": (True, False, True, True)}
MLA: dict[str, Value] = {
    "attention.head_count_kv": 1, "attention.key_length": 40, "attention.value_length": 32, "attention.kv_lora_rank": 32,
    "attention.key_length_mla": 24, "attention.value_length_mla": 16, "rope.dimension_count": 8,
}
INDEXER: dict[str, Value] = {"attention.indexer.head_count": 2, "attention.indexer.key_length": 16, "attention.indexer.top_k": 4}
PICKS: dict[str, Value] = {**INDEXER, "attention.indexer.types": (True, False, True, False)}
SSM: dict[str, Value] = {
    "ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": 2,
}
KV_HEADS: dict[str, Value] = {"attention.head_count_kv": (0, 2, 0, 2)}
KDA: dict[str, Value] = {**MLA, "attention.head_count_kv": (0, 0, 0, 1), "kda.head_dim": 16, "ssm.conv_kernel": 4}
HASHED: dict[str, Value] = {
    **INDEXER, "ple.layers": (1,), "ple.ngram_size": 3, "ple.conv_kernel": 4, "hyper_connection.count": 4,
}
# fmt: on


class Case(NamedTuple):
    arch: str
    keys: Mapping[str, Value]
    layers: Mapping[str, int]


THREE_OF_FOUR = {"sliding:8": 3, "full": 1}
DELTA = {**SSM, "ssm.inner_size": 128, "ssm.state_size": 16}
CASES = (
    Case("deci", {"attention.head_count": (4, 0, 4, 4), "attention.head_count_kv": (2, 0, 0, 1)}, {"full": 2, "none": 2}),
    Case("glm4moe", {"block_count": 5, "nextn_predict_layers": 1}, {"full": 4}),
    Case("nanbeige", {"num_loops": 2}, {"full+full": 4}),
    Case("gemma2", {}, {"sliding:4096": 2, "full": 2}),
    Case("gemma2", WINDOW, {"sliding:8": 2, "full": 2}),
    Case("gemma3", {**WINDOW, "block_count": 7}, {"sliding:8": 6, "full": 1}),
    Case("gemma3", {**WINDOW, "attention.sliding_window_pattern": 2}, {"sliding:8": 2, "full": 2}),
    Case("gemma3", {}, {"full": 4}),
    Case("gpt-oss", WINDOW, {"sliding:8": 2, "full": 2}),
    Case("cohere2", WINDOW, THREE_OF_FOUR),
    Case("cohere2moe", WINDOW, THREE_OF_FOUR),
    Case("exaone4", {"block_count": 64}, {"sliding:4096": 48, "full": 16}),
    Case("exaone4", WINDOW, {"full": 4}),
    Case("exaone-moe", WINDOW, THREE_OF_FOUR),
    Case("afmoe", WINDOW, THREE_OF_FOUR),
    Case("laguna", WINDOW, THREE_OF_FOUR),
    Case("mellum", WINDOW, THREE_OF_FOUR),
    Case("muse-glimmer", WINDOW, THREE_OF_FOUR),
    Case("olmo2", WINDOW, THREE_OF_FOUR),
    Case("olmo2", {}, {"full": 4}),
    Case("plamo3", {**WINDOW, "block_count": 8}, {"sliding:8": 7, "full": 1}),
    Case("smallthinker", WINDOW, {"sliding:4096": 3, "full": 1}),
    Case("smallthinker", {}, {"full": 4}),
    Case("phi3", WINDOW, {"sliding:8": 4}),
    Case("phi3", {"attention.sliding_window": 0}, {"full": 4}),
    *(Case(arch, LISTED, THREE_OF_FOUR) for arch in ("granite_swa", "maple", "mimo2", "spark2_5", "step35")),
    Case("gemma3n", {**WINDOW, "block_count": 25}, {"sliding:8": 16, "full": 4, "shared": 5}),
    Case("gemma3n", {**WINDOW, "block_count": 10, "attention.shared_kv_layers": 4}, {"sliding:8": 5, "full": 1, "shared": 4}),
    Case("gemma4", {**LISTED, "attention.shared_kv_layers": 2}, {"sliding:8": 1, "full": 1, "shared": 2}),
    Case("llama4", {}, {"chunked:8192": 3, "full": 1}),
    Case("llama4", {"attention.sliding_window": 0}, {"full": 4}),
    Case("deepseek2", MLA, {"mla": 4}),
    Case("deepseek2", {"attention.key_length": 24, "attention.value_length": 16, "attention.kv_lora_rank": 32}, {"full": 4}),
    Case("mistral4", MLA, {"mla": 4}),
    Case("deepseek32", {**MLA, **INDEXER}, {"mla+indexer": 4}),
    Case("glm-dsa", {**MLA, **INDEXER}, {"mla+indexer": 4}),
    Case("glm-dsa", {**MLA, **INDEXER, "context_length": 1048576, "block_count": 8}, {"mla+indexer": 4, "mla": 4}),
    Case("glm-dsa", {**MLA, **PICKS}, {"mla+indexer": 2, "mla": 2}),
    Case("hy_v4", MLA, {"mla": 4}),
    Case("hy_v4", {**MLA, **PICKS}, {"mla+indexer": 2, "mla": 2}),
    Case(
        "dots3note",
        {
            **MLA,
            **PICKS,
            **WINDOW,
            "attention.sliding_window_pattern": (False, True, False, True),
            "attention.kv_lora_rank_swa": 16,
            "attention.key_length_swa": 20,
            "attention.key_length_mla_swa": 12,
            "attention.value_length_mla_swa": 8,
        },
        {"mla+indexer": 2, "mla:8": 2},
    ),
    Case(
        "deepseek4",
        {**WINDOW, **INDEXER, "attention.key_length": 32, "attention.compress_ratios": (0, 4, 128, 4)},
        {"compressed:8": 2, "compressed:8+indexer": 2},
    ),
    Case("minimax-m3", {**INDEXER, "attention.indexer.block_size": 2, "leading_dense_block_count": 1}, {"full": 1, "full+indexer": 3}),
    Case("mamba", SSM, {"mamba1": 4}),
    Case("mamba2", SSM, {"mamba2": 4}),
    Case("jamba", {**SSM, **KV_HEADS}, {"mamba1": 2, "full": 2}),
    Case("granitehybrid", {**SSM, **KV_HEADS}, {"mamba2": 2, "full": 2}),
    Case("plamo2", {**SSM, **KV_HEADS, "ssm.group_count": 0}, {"mamba2": 2, "full": 2}),
    Case("falcon-h1", SSM, {"full+mamba2": 4}),
    *(
        Case(arch, {**SSM, **KV_HEADS, "feed_forward_length": (0, 0, 96, 0)}, {"mamba2": 1, "full": 2, "none": 1})
        for arch in ("nemotron_h", "nemotron_h_moe")
    ),
    Case("lfm2", {**KV_HEADS, "shortconv.l_cache": 3}, {"short_conv": 2, "full": 2}),
    Case("lfm2", {**KV_HEADS, **WINDOW, "shortconv.l_cache": 3}, {"short_conv": 2, "sliding:8": 2}),
    Case("lfm2moe", {**KV_HEADS, "shortconv.l_cache": 3}, {"short_conv": 2, "full": 2}),
    *(Case(arch, DELTA, {"gated_delta": 3, "full": 1}) for arch in ("qwen3next", "qwen35", "qwen35moe")),
    Case("qwen35", {**DELTA, "attention.recurrent_layers": (True, True, False, False)}, {"gated_delta": 2, "full": 2}),
    Case("qwen4exp", {**DELTA, **HASHED}, {"gated_delta": 2, "gated_delta+short_conv": 1, "full+indexer": 1}),
    Case("minimax-01", {"block_count": 8}, {"linear": 7, "full": 1}),
    *(Case(arch, KDA, {"gated_delta": 3, "mla": 1}) for arch in ("kimi-linear", "kimi-k3", "bailingmoe3")),
    Case("glm5-next", {**KDA, **INDEXER, "attention.indexer.kpool": 2}, {"gated_delta": 3, "mla+indexer": 1}),
    *(Case(arch, {"wkv.head_size": 16}, {"rwkv": 4}) for arch in ("rwkv6", "rwkv7", "rwkv6qwen2", "arwkv7")),
    *(
        Case(arch, {"attention.sliding_window": 8}, {"none": 4})
        for arch in (
            *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert"),
            *("gemma-embedding", "dream", "llada", "llada-moe", "rnd1"),
        )
    ),
    Case("t5", {}, {"full+cross": 4}),
    Case("t5", {"decoder_block_count": 2}, {"full+cross": 2}),
    Case("t5encoder", {}, {"none": 4}),
    *(Case(arch, {"attention.head_count_kv": 2}, {"full": 4}) for arch in plain.GGUF_ARCHS),
)


def built(arch: str, keys: Mapping[str, Value], n_layers: int = 4) -> ModelSpec:
    made = header(arch, keys, n_layers=n_layers)
    if arch in ("t5", "t5encoder"):
        layers = blocks(n_layers, NORM, "enc.blk") + blocks(int(str(keys.get("decoder_block_count", n_layers))), NORM, "dec.blk")[1:]
        made = made._replace(tensors=layers if arch == "t5" else blocks(n_layers, NORM, "enc.blk"))
    return build(made, "small.gguf")


def layers_of(spec: ModelSpec) -> list[Layer]:
    return list(spec.layers())


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.arch}" for i, case in enumerate(CASES)])
def test_layers(case: Case) -> None:
    spec = built(case.arch, case.keys)
    assert dict(Counter(map(label, spec.layers()))) == case.layers
    assert spec.exact
    assert spec.model_type == case.arch
    assert (spec.hidden_size, spec.vocab_size, spec.max_ctx_tokens) == (64, 100, case.keys.get("context_length", 1024))


def test_every_architecture_has_a_case() -> None:
    assert set(_discover.claimants(ARCHS, "GGUF_ARCHS")) == {case.arch for case in CASES}


def test_where_the_layer_that_sees_everything_stands() -> None:
    last = [label(layer) for layer in built("cohere2", WINDOW).layers()]
    first = [label(layer) for layer in built("cohere2moe", WINDOW).layers()]
    assert last == first[::-1] == ["sliding:8"] * 3 + ["full"]


def test_widths_of_keys_and_values() -> None:
    """embedding_length / head_count, else key_length and value_length, and their own in layers with windows (facts of llama.cpp)."""
    plain_spec = built("llama", {"attention.head_count_kv": 2})
    assert [mixer[:4] for mixer in layers_of(plain_spec)[0].mixers] == [(4, 2, 16, 16)]
    wide = built("llama", {"attention.head_count_kv": 2, "attention.key_length": 24, "attention.value_length": 8})
    assert [mixer[:4] for mixer in layers_of(wide)[0].mixers] == [(4, 2, 24, 8)]
    mixed = built("gemma4", {**LISTED, "attention.key_length": 32, "attention.key_length_swa": 8, "attention.value_length_swa": 4})
    assert [layer.mixers[0][:4] for layer in mixed.layers()][:2] == [(4, 4, 8, 4), (4, 4, 32, 16)]


def test_shared_layers_read_the_last_of_their_kind() -> None:
    keys = {
        **WINDOW,
        "attention.shared_kv_layers": 4,
        "attention.sliding_window_pattern": (True, True, False, True, True, False, True, True),
    }
    assert [layer.kv_source for layer in built("gemma4", {**keys, "block_count": 8}).layers()] == [None] * 4 + [3, 2, 3, 3]


def test_next_token_layers_stand_apart() -> None:
    """llama.cpp: no cache in the main context; with drafting, that of these layers alone."""
    spec = built("deepseek2", {**MLA, "block_count": 5, "nextn_predict_layers": 1})
    assert spec.n_layers == 4
    assert [(run.n_layers, label(run.layer), run.layer.weights) for run in spec.mtp] == [(1, "mla", ())]
    assert [(group.name, group.role) for group in spec.weights][1:] == [("blk.4.attn_norm.weight", "next_token")]
    assert spec.n_active_params == spec.n_params - 64


def test_states() -> None:
    """Elements per sequence as llama.cpp's n_embd_r and n_embd_s, for layers of these sizes."""
    due: dict[str, tuple[Mapping[str, Value], int, int]] = {
        "mamba": (SSM, 3 * 128, 16 * 128),
        "mamba2": (SSM, 3 * (128 + 2 * 2 * 16), 16 * 128),
        "qwen3next": (DELTA, 3 * (128 + 2 * 2 * 16), 16 * 128),
        "kimi-linear": (KDA, 3 * 3 * 4 * 16, 16 * 16 * 4),
        "minimax-01": ({}, 0, 16 * 16 * 4),
        "rwkv6": ({"wkv.head_size": 16}, 2 * 64, 64 * 16),
        "arwkv7": ({"wkv.head_size": 16, "token_shift_count": 1}, 64, 64 * 16),
        "lfm2": ({**KV_HEADS, "shortconv.l_cache": 3}, 64 * 2, 0),
    }
    for arch, (keys, conv, state) in due.items():
        mixer = layers_of(built(arch, keys))[0].mixers[0]
        assert (getattr(mixer, "conv_elems", None), getattr(mixer, "state_elems", None)) == (conv, state), arch


def test_latent_sizes() -> None:
    spec = built("deepseek2", {**MLA, "attention.q_lora_rank": 12})
    assert [layer.mixers for layer in spec.layers()] == [(Mla(4, 32, 8, 16, 16, q_lora_rank=12),)] * 4


def test_t5_reads_its_encoder() -> None:
    spec = built("t5", {"decoder_block_count": 2})
    assert [caveat.rule for caveat in spec.caveats] == ["KV013"]
    assert {group.role for group in spec.weights} == {"embedding", "encoder"}
    assert [getattr(mixer, "source_tokens", 0) for mixer in layers_of(spec)[0].mixers] == [0, 1024]
