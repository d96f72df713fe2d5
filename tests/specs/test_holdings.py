"""Parts and roles of a checkpoint's tensors."""

from collections import Counter

from kvplan.core.checkpoint import Checkpoint, Part, Tensor
from kvplan.core.model import ModelSpec
from kvplan.core.roles import Role
from kvplan.specs.build import build
from kvplan.specs.holdings import checkpoint_of
from tests.weights import Layout, n_bytes

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "dtype": "bfloat16",
}


def tensors(layout: Layout) -> list[Tensor]:
    names = {"I64": "int64", "BF16": "bfloat16", "F32": "float32", "U8": "uint8", "BOOL": "bool"}
    return [Tensor(name, names[dtype], tuple(shape), n_bytes(dtype, shape)) for name, (dtype, shape) in layout.items()]


def held(spec: ModelSpec, layout: Layout) -> dict[tuple[Part, Role], int]:
    """Elements by part and role."""
    found = checkpoint_of(spec, tensors(layout), 1, 0)
    sums = Counter[tuple[Part, Role]]()
    for holding in found.holdings:
        sums[holding.part, holding.role] += holding.n_elems
    return dict(sums)


def llama(**changes: object) -> ModelSpec:
    return build(LLAMA | changes, where="config.json")


def test_sums() -> None:
    found = checkpoint_of(llama(), tensors({"lm_head.weight": ("BF16", (96, 32)), "model.norm.weight": ("F32", (32,))}), 2, 9000)
    assert found[:5] == Checkpoint("safetensors", "headers", 2, 9000, 96 * 64 + 128)[:5]
    assert [(h.part, h.role, h.dtype, h.n_tensors, h.n_bytes) for h in found.holdings] == [
        ("model", "lm_head", "bfloat16", 1, 96 * 64),
        ("model", "norm", "float32", 1, 128),
    ]
    assert found.tensors == ()


ENDS = {"model.embed_tokens.weight": ("BF16", (96, 32)), "lm_head.weight": ("BF16", (96, 32))}


def test_an_output_projection_that_the_model_shares_is_stored_again() -> None:
    assert held(llama(tie_word_embeddings=True), ENDS) == {("model", "embedding"): 3072, ("tied", "lm_head"): 3072}
    assert held(llama(tie_word_embeddings=False), ENDS) == {("model", "embedding"): 3072, ("model", "lm_head"): 3072}


def test_an_output_projection_stored_in_place_of_the_embeddings_is_the_model() -> None:
    assert held(llama(tie_word_embeddings=True), {"lm_head.weight": ("BF16", (96, 32))}) == {("model", "lm_head"): 3072}


def test_a_shared_output_projection_of_another_size_or_with_scales() -> None:
    quantized = {"quant_method": "awq", "bits": 4, "group_size": 32}
    layout = {"model.embed_tokens.weight": ("BF16", (128, 32)), "lm_head.qweight": ("F32", (96, 4)), "lm_head.scales": ("BF16", (96, 1))}
    found = held(llama(tie_word_embeddings=True, quantization_config=quantized), layout)
    assert found == {("model", "embedding"): 4096, ("tied", "lm_head"): 384, ("tied", "scale"): 96}


def test_tables_that_encoder_and_decoder_share() -> None:
    config = {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "vocab_size": 96,
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 1,
        "num_heads": 4,
        "n_positions": 64,
        "dtype": "float32",
        "feed_forward_proj": "relu",
    }
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "shared.weight", "lm_head.weight")
    found = held(build(config, where="config.json"), {name: ("F32", (96, 32)) for name in names})
    assert found == {("tied", "encoder"): 3072, ("tied", "embedding"): 3072, ("model", "embedding"): 3072, ("tied", "lm_head"): 3072}


def test_layers_behind_the_last_are_next_token_layers() -> None:
    layout = {f"model.layers.{i}.mlp.up_proj.weight": ("BF16", (48, 32)) for i in range(3)} | {
        "model.layers.2.shared_head.norm.weight": ("BF16", (32,))
    }
    assert held(llama(), layout) == {("model", "mlp"): 3072, ("mtp", "mlp"): 1536, ("mtp", "norm"): 32}


def test_towers_that_the_class_does_not_build() -> None:
    layout = {"vision_tower.encoder.layers.7.mlp.fc1.weight": ("BF16", (48, 32)), "multi_modal_projector.linear.weight": ("BF16", (8, 8))}
    assert held(llama(), layout) == {("tower", "vision"): 1536, ("tower", "projector"): 64}
    with_tower = llama()
    vision = with_tower.weights[0]._replace(name="vision.x", role="vision")
    assert held(with_tower._replace(weights=(*with_tower.weights, vision)), layout) == {
        ("model", "vision"): 1536,
        ("model", "projector"): 64,
    }


def test_voices_and_encoders_that_the_class_does_not_build() -> None:
    layout = {"talker.model.layers.9.mlp.up_proj.weight": ("BF16", (4, 4)), "model.encoder.layers.9.fc1.weight": ("BF16", (2, 2))}
    assert held(llama(), layout) == {("tower", "mlp"): 16, ("model", "encoder"): 4}  # without a decoder, it is the model
    layout["model.decoder.layers.9.fc1.weight"] = ("BF16", (1, 1))
    assert held(llama(num_hidden_layers=10), layout) == {("tower", "mlp"): 16, ("tower", "encoder"): 4, ("model", "mlp"): 1}
    plain = llama()
    others = [plain.weights[0]._replace(name="talker.x", role="other"), plain.weights[0]._replace(name="encoder.x", role="encoder")]
    assert held(plain._replace(weights=(*plain.weights, *others)), layout) == {
        ("model", "mlp"): 16,
        ("model", "encoder"): 4,
        ("mtp", "mlp"): 1,
    }


def test_causal_masks_are_no_biases() -> None:
    layout = {
        "h.0.attn.bias": ("BOOL", (1, 1, 64, 64)),
        "h.0.attn.c_attn.bias": ("F32", (96,)),
        "gpt_neox.layers.0.attention.dense.bias": ("F32", (32,)),
        "gpt_neox.layers.0.attention.bias": ("U8", (1, 1, 8, 8)),
    }
    assert held(llama(), layout) == {("buffer", "other"): 4096 + 64, ("model", "attention"): 128}


def test_corrections_of_routing_are_parameters_in_some_families() -> None:
    layout = {"model.layers.0.mlp.expert_bias": ("F32", (8,))}
    group = llama().weights[0]
    for role in ("router", "scale"):
        correction = group._replace(name="mlp.gate.e_score_correction_bias", role=role, rows=8, cols=1)
        assert held(llama()._replace(weights=(correction,)), layout) == {("model", "expert" if role == "router" else "scale"): 8}


def test_a_correction_that_files_call_a_bias() -> None:
    layout = {"model.layers.0.ffn.gate.bias": ("F32", (8,))}
    group = llama().weights[0]._replace(rows=8, cols=1)
    correction, bias = (
        group._replace(name="mlp.gate.e_score_correction_bias", role="scale"),
        group._replace(name="mlp.gate.bias", role="router"),
    )
    assert held(llama()._replace(weights=(correction,)), layout) == {("model", "scale"): 8}
    assert held(llama()._replace(weights=(correction, bias)), layout) == {("model", "router"): 8}
    assert held(llama()._replace(weights=(bias,)), layout) == {("model", "router"): 8}


def test_counts_are_no_parameters_and_stacked_projections_are_experts() -> None:
    layout = {"model.layers.0.ple.offsets": ("I64", (9,)), "model.layers.1.moe.up_proj.weight": ("BF16", (4, 48, 32))}
    assert held(llama(), layout) == {("model", "scale"): 9, ("model", "expert"): 6144}


def test_an_output_projection_padded_to_the_size_of_the_embeddings_is_no_copy() -> None:
    spec = llama()
    shorter = tuple(group._replace(rows=90) if group.role == "lm_head" else group for group in spec.weights)
    assert held(spec._replace(weights=shorter), ENDS) == {("model", "embedding"): 3072, ("model", "lm_head"): 3072}


def test_what_scales_logits_is_no_copy_of_a_shared_output_projection() -> None:
    layout = {"model.embed_tokens.weight": ("BF16", (96, 32)), "lm_head.logit_scale": ("BF16", (96,)), "lm_head.bias": ("BF16", (96,))}
    assert held(llama(tie_word_embeddings=True), layout) == {("model", "embedding"): 3072, ("model", "lm_head"): 192}
