"""Weights and feed-forwards of small headers: sizes worked out by hand."""

from kvplan.core.model import DenseFfn, MoeFfn, WeightGroup
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.values import Skipped
from tests.gguf.making import HIDDEN, VOCAB, Shapes, blocks, header, tensor

ATTENTION: Shapes = {"attn_q.weight": (64, 64), "attn_k.weight": (64, 32), "attn_v.weight": (64, 32), "attn_output.weight": (64, 64)}
DENSE: Shapes = {"ffn_gate.weight": (64, 96), "ffn_up.weight": (64, 96), "ffn_down.weight": (96, 64)}
EXPERTS: Shapes = {
    "ffn_gate_inp.weight": (64, 6),
    "ffn_gate_exps.weight": (64, 48, 6),
    "ffn_up_exps.weight": (64, 48, 6),
    "ffn_down_exps.weight": (48, 64, 6),
    "ffn_down_shexp.weight": (24, 64),
}
MIXTURE = {"expert_count": 6, "expert_used_count": 2}
KV2 = {"attention.head_count_kv": 2}


def test_a_dense_decoder() -> None:
    """A layer has 2 · 64 · 64 + 2 · 64 · 32 + 3 · 64 · 96 parameters; the table 64 · 100."""
    tensors = blocks(4, {**ATTENTION, **DENSE}, extra=(tensor("output_norm.weight", (64,)),))
    spec = build(header("llama", {**KV2, "feed_forward_length": 96, "rope.dimension_count": 16}, tensors), "small.gguf")
    assert [(run.n_layers, run.layer.ffns) for run in spec.runs] == [(4, (DenseFfn(96),))]
    assert spec.n_params == 4 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96) + 64 * 100 + 64
    assert spec.weight_bytes == 4 * spec.n_params
    assert (spec.stored_dtype, spec.quantization, spec.form.rotary_dim, spec.form.checked) == ("float32", None, 16, False)
    assert spec.weights == (WeightGroup("token_embd.weight", "embedding", VOCAB, HIDDEN), WeightGroup("output_norm.weight", "norm", 64))
    assert (spec.architecture, spec.source) == ("llama", "gguf")


def test_experts_in_one_tensor() -> None:
    spec = build(header("qwen2moe", MIXTURE, blocks(4, EXPERTS)), "small.gguf")
    assert {layer.ffns for layer in spec.layers()} == {(MoeFfn(6, 2, 48, 24),)}
    assert spec.n_params - spec.n_active_params == 4 * 4 * 3 * 64 * 48
    down = next(group for group in spec.runs[0].layer.weights if group.name == "ffn_down_exps.weight")
    assert (down.rows, down.cols, down.n_copies) == (64, 48, 6)


def test_experts_in_tensors_of_their_own() -> None:
    """Files of early 2024: ``blk.0.ffn_down.3.weight``."""
    shapes = {f"ffn_{part}.{j}.weight": (64, 48) if part != "down" else (48, 64) for part in ("gate", "up", "down") for j in range(6)}
    spec = build(header("llama", MIXTURE, blocks(4, shapes)), "small.gguf")
    assert {layer.ffns for layer in spec.layers()} == {(MoeFfn(6, 2, 48),)}
    assert spec.n_params - spec.n_active_params == 4 * 4 * 3 * 64 * 48


def test_a_dense_feed_forward_beside_experts() -> None:
    """Arctic's is as wide as the model whatever feed_forward_length says; a lone up-projection is ungated."""
    shapes: Shapes = {**EXPERTS, "ffn_up.weight": (64, 64), "ffn_down.weight": (64, 64)}
    spec = build(header("arctic", {**MIXTURE, "feed_forward_length": 48}, blocks(4, shapes)), "small.gguf")
    assert {layer.ffns for layer in spec.layers()} == {(MoeFfn(6, 2, 48, 24), DenseFfn(64, gated=False))}


def test_both_halves_of_a_gated_feed_forward_in_one_tensor() -> None:
    """Phi-3 and ChatGLM; Qwen 1 counts both halves in its key."""
    fused: Shapes = {"ffn_up.weight": (64, 192), "ffn_down.weight": (96, 64)}
    spec = build(header("phi3", {"feed_forward_length": 96}, blocks(4, fused)), "small.gguf")
    assert {layer.ffns for layer in spec.layers()} == {(DenseFfn(96),)}
    first = build(header("qwen", {"feed_forward_length": 192}, blocks(4, DENSE)), "small.gguf")
    assert {layer.ffns for layer in first.layers()} == {(DenseFfn(96),)}


def test_channel_mixing_is_ungated() -> None:
    shapes: Shapes = {"channel_mix_key.weight": (64, 96), "channel_mix_value.weight": (96, 64)}
    spec = build(header("rwkv7", {"wkv.head_size": 16}, blocks(4, shapes)), "small.gguf")
    assert {layer.ffns for layer in spec.layers()} == {(DenseFfn(96, gated=False),)}


def test_projections_of_a_state_are_its_mixers() -> None:
    keys = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": 2}
    spec = build(header("qwen3next", keys, blocks(4, {"attn_qkv.weight": (64, 192)})), "small.gguf")
    assert [run.layer.weights[0].role for run in spec.runs] == ["mixer", "attention"]


def test_mixed_element_types() -> None:
    """Runs end where a type changes; the type of most bytes is the model's, and a one-row tensor of blocks is a row."""
    kinds = ("q4_k", "q4_k", "q6_k", "q4_k")
    inside = tuple(tensor(f"blk.{i}.ffn_down.weight", (256, 64), kind) for i, kind in enumerate(kinds))
    extra = (tensor("token_embd.weight", (64, 100), "q8_0"), tensor("output_norm.weight", (64,)), tensor("strange.weight", (64,), "q8_0"))
    made = header("llama", {}, (*extra, *inside))
    spec = build(made, "small.gguf")
    assert [(run.n_layers, run.layer.weights[0].dtype) for run in spec.runs] == [(2, None), (1, "q6_k"), (1, None)]
    assert spec.weight_bytes == sum(tensor.n_bytes for tensor in made.tensors)
    assert spec.n_params == sum(tensor.n_elems for tensor in made.tensors)
    assert (spec.stored_dtype, spec.quantization) == ("q4_k", None)
    numbered = made._replace(values={**made.values, "general.file_type": 15})
    assert build(numbered, "small.gguf").quantization == "q4_k_m"
    unknown = made._replace(values={**made.values, "general.file_type": 1024})
    assert build(unknown, "small.gguf").quantization is None


def test_the_order_of_tensors_does_not_matter() -> None:
    mixed = blocks(2, ATTENTION) + blocks(4, dict(reversed(tuple(ATTENTION.items()))))[-8:]
    assert len(build(header("llama", KV2, mixed), "small.gguf").runs) == 1


def test_a_layer_that_was_pruned_away() -> None:
    """Deci's models have layers with neither attention nor feed-forward, and so without tensors."""
    keys = {"attention.head_count_kv": (2, 0, 2, 2), "feed_forward_length": (96, 0, 96, 96)}
    tensors = tuple(t for t in blocks(4, {**ATTENTION, **DENSE}) if not t.name.startswith("blk.1."))
    spec = build(header("deci", keys, tensors), "small.gguf")
    assert [len(layer.weights) for layer in spec.layers()] == [7, 0, 7, 7]


def test_the_tokenizer_decides_where_vocab_size_differs() -> None:
    """llama.cpp goes by the tokens that the file lists."""
    made = header("llama", KV2)
    listed = made._replace(n_vocab=90, values={**made.values, "llama.vocab_size": 90, "tokenizer.ggml.tokens": Skipped("string", VOCAB)})
    assert build(listed, "small.gguf").vocab_size == VOCAB
