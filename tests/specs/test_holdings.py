"""Parts and roles of a checkpoint's tensors."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

import pytest

from kvplan.core.checkpoint import Checkpoint, Part, Tensor
from kvplan.core.dtypes import DTYPES
from kvplan.core.model import ModelSpec
from kvplan.core.roles import Role
from kvplan.specs.build import build
from kvplan.specs.holdings import checkpoint_of
from kvplan.specs.tensor_names import part_and_role
from tests.weights import Layout, entries, n_bytes

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

NAMES: dict[tuple[Part, Role], tuple[str, ...]] = {
    ("model", "embedding"): (
        "model.embed_tokens.weight",
        "transformer.wte.weight",
        "wpe.weight",
        "gpt_neox.embed_in.weight",
        "backbone.embeddings.weight",
        "shared.weight",
        "model.tok_embeddings.weight",
        "transformer.word_embeddings.weight",
        "model.decoder.embed_positions.weight",
    ),
    ("model", "lm_head"): ("lm_head.weight", "lm_head.bias", "embed_out.weight", "output.weight", "head.weight", "proj_out.weight"),
    ("model", "norm"): (
        "model.norm.weight",
        "transformer.ln_f.bias",
        "h.3.ln_1.weight",
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.self_attn.q_norm.weight",
        "transformer.blocks.4.norm_attn_norm.norm_2.weight",
        "backbone.norm_f.weight",
        "rwkv.blocks.0.ln1.weight",
        "decoder.block.0.layer.1.layer_norm.weight",
        "transformer.word_embeddings_layernorm.weight",
    ),
    ("model", "attention"): (
        "h.0.attn.c_attn.bias",
        "model.layers.3.self_attn.qkv_proj.weight",
        "gpt_neox.layers.1.attention.query_key_value.weight",
        "transformer.h.0.self_attention.dense.weight",
        "decoder.block.0.layer.1.EncDecAttention.q.weight",
        "model.layers.1.self_attn.sinks",
        "model.layers.1.self_attn.kv_a_proj_with_mqa.weight",
        "transformer.blocks.0.norm_attn_norm.attn.Wqkv.weight",
    ),
    ("model", "mlp"): (
        "model.layers.0.mlp.gate_proj.weight",
        "h.0.mlp.c_fc.weight",
        "decoder.block.0.layer.2.DenseReluDense.wi_0.weight",
        "model.layers.0.feed_forward.w1.weight",
        "model.decoder.layers.0.fc1.weight",
    ),
    ("model", "router"): (
        "model.layers.0.mlp.gate.weight",
        "model.layers.0.block_sparse_moe.gate.weight",
        "model.layers.0.mlp.router.bias",
        "transformer.blocks.0.ffn.router.layer.weight",
        "model.layers.0.feed_forward.router.weight",
    ),
    ("model", "expert"): (
        "model.layers.0.mlp.experts.7.down_proj.weight",
        "model.layers.0.mlp.experts.gate_up_proj_blocks",
        "model.layers.0.block_sparse_moe.experts.0.w2.weight",
        "transformer.blocks.0.ffn.experts.mlp.w1",
    ),
    ("model", "shared_expert"): (
        "model.layers.0.mlp.shared_experts.up_proj.weight",
        "model.layers.0.mlp.shared_expert_gate.weight",
    ),
    ("model", "mixer"): (
        "backbone.layers.0.mixer.A_log",
        "model.layers.0.linear_attn.in_proj_qkvz.weight",
        "model.layers.0.mamba.conv1d.bias",
        "model.layers.1.conv.in_proj.weight",
    ),
    ("model", "indexer"): ("model.layers.0.self_attn.indexer.wk.weight",),
    ("model", "encoder"): ("encoder.block.0.layer.0.SelfAttention.q.weight", "model.encoder.layers.0.self_attn.q_proj.weight"),
    ("model", "vision"): (
        "vision_tower.vision_model.encoder.layers.3.mlp.fc1.weight",
        "model.visual.blocks.0.attn.qkv.weight",
        "visual.patch_embed.proj.weight",
        "model.image_newline",
    ),
    ("model", "audio"): ("audio_tower.layers.0.self_attn.q_proj.weight", "model.audio_tower.conformer.0.norm.weight"),
    ("model", "projector"): (
        "multi_modal_projector.linear_1.weight",
        "model.connector.modality_projection.proj.weight",
        "visual.merger.mlp.0.weight",
        "model.embed_vision.embedding_projection.weight",
    ),
    ("mtp", "other"): ("mtp.eh_proj.weight",),
    ("mtp", "attention"): (
        "mtp.layers.0.self_attn.q_proj.weight",
        "model.mtp.0.self_attn.k_proj.weight",
        "model.mtp_layers.0.self_attn.q_b.weight",
    ),
    ("mtp", "expert"): ("model.nextn.layers.0.mlp.experts.3.up_proj.weight",),
    ("mtp", "scale"): ("mtp.layers.0.mlp.experts.3.up_proj.weight_scale_inv",),
    ("model", "scale"): (
        "model.layers.0.mlp.up_proj.qzeros",
        "model.layers.0.mlp.up_proj.scales",
        "model.layers.0.mlp.up_proj.g_idx",
        "model.layers.0.mlp.up_proj.SCB",
        "model.layers.0.mlp.up_proj.weight_format",
        "model.layers.0.mlp.up_proj.weight.absmax",
        "model.layers.0.mlp.up_proj.weight.nested_quant_map",
        "model.layers.0.mlp.up_proj.weight.quant_state.bitsandbytes__nf4",
        "model.layers.0.mlp.up_proj.weight_scale",
        "model.layers.0.mlp.up_proj.weight_scale_2",
        "model.layers.0.mlp.up_proj.weight_scale_inv",
        "model.layers.0.mlp.up_proj.weight_global_scale",
        "model.layers.0.mlp.up_proj.input_scale",
        "model.layers.0.mlp.up_proj.input_global_scale",
        "model.layers.0.mlp.up_proj.weight_zero_point",
        "model.layers.0.mlp.up_proj.weight_shape",
        "model.layers.0.mlp.up_proj.weight_g_idx",
        "model.layers.0.mlp.experts.down_proj_scales",
        "model.layers.0.self_attn.k_scale",
        "model.layers.0.self_attn.v_proj.output_scale",
        "lm_head.biases",
        "model.layers.3.mlp.gate.e_score_correction_bias",
        "model.audio_tower.layers.0.self_attn.q_proj.input_max",
    ),
    ("buffer", "other"): (
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "h.0.attn.masked_bias",
        "vision_model.embeddings.position_ids",
        "final_logits_bias",
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
        "encoder.version",
    ),
}


@pytest.mark.parametrize(("told", "names"), NAMES.items(), ids=["-".join(told) for told in NAMES])
def test_names(told: tuple[Part, Role], names: tuple[str, ...]) -> None:
    assert {name: part_and_role(name) for name in names} == dict.fromkeys(names, told)


def test_scales_are_parameters_where_nothing_is_quantized() -> None:
    assert part_and_role("model.layers.0.self_attn.softmax_scaling.scale", scales=False) == ("model", "attention")


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


def deepseek_layer(config: Mapping[str, int], i: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, dtype and shape of each tensor of one layer as DeepSeek-V3 is published, scales apart."""
    hidden, heads, kv_rank, q_rank = (config[key] for key in ("hidden_size", "num_attention_heads", "kv_lora_rank", "q_lora_rank"))
    rope, nope, values = config["qk_rope_head_dim"], config["qk_nope_head_dim"], config["v_head_dim"]
    n_experts, width = config["n_routed_experts"], config["moe_intermediate_size"]
    linears = {
        "self_attn.q_a_proj": (q_rank, hidden),
        "self_attn.q_b_proj": (heads * (nope + rope), q_rank),
        "self_attn.kv_a_proj_with_mqa": (kv_rank + rope, hidden),
        "self_attn.kv_b_proj": (heads * (nope + values), kv_rank),
        "self_attn.o_proj": (hidden, heads * values),
    }
    dense = i < config["first_k_dense_replace"]
    mlps = (
        {"mlp": config["intermediate_size"]}
        if dense
        else {f"mlp.experts.{n}": width for n in range(n_experts)} | {"mlp.shared_experts": width}
    )
    for mlp, inner in mlps.items():
        linears |= {f"{mlp}.gate_proj": (inner, hidden), f"{mlp}.up_proj": (inner, hidden), f"{mlp}.down_proj": (hidden, inner)}
    for name, (rows, cols) in linears.items():
        yield f"{name}.weight", "float8_e4m3fn", (rows, cols)
        yield f"{name}.weight_scale_inv", "float32", (-(-rows // 128), -(-cols // 128))
    sizes = {
        "input_layernorm": hidden,
        "post_attention_layernorm": hidden,
        "self_attn.q_a_layernorm": q_rank,
        "self_attn.kv_a_layernorm": kv_rank,
    }
    yield from ((f"{name}.weight", "bfloat16", (size,)) for name, size in sizes.items())
    if not dense:
        yield "mlp.gate.weight", "bfloat16", (n_experts, hidden)
        yield "mlp.gate.e_score_correction_bias", "float32", (n_experts,)


def test_next_token_layers_of_a_large_mixture(shared: Path) -> None:
    """Totals as published: 688,574,839,360 B, of which the model without its next-token layer takes 673,150,611,808."""
    path = shared / "hub" / "configs" / "deepseek-ai" / "DeepSeek-V3" / "config.json"
    config = json.loads(path.read_text())
    table, hidden = (config["vocab_size"], config["hidden_size"]), (config["hidden_size"],)
    last = f"model.layers.{config['num_hidden_layers']}"
    ends = {"model.embed_tokens.weight": table, "lm_head.weight": table, "model.norm.weight": hidden}
    ends |= {f"{last}.embed_tokens.weight": table, f"{last}.shared_head.head.weight": table, f"{last}.eh_proj.weight": (7168, 2 * 7168)}
    ends |= {f"{last}.{name}.weight": hidden for name in ("enorm", "hnorm", "shared_head.norm")}
    listed = [(name, "bfloat16", shape) for name, shape in ends.items()]
    for i in range(config["num_hidden_layers"] + 1):
        listed += [(f"model.layers.{i}.{name}", dtype, shape) for name, dtype, shape in deepseek_layer(config, i)]
    found = checkpoint_of(build(config, where=str(path)), [Tensor(*t, DTYPES[t[1]].row_bytes(prod(t[2]))) for t in listed], 163, 0)
    assert found.n_bytes == 688_574_839_360
    assert found.bytes_in("model") == 673_150_611_808
    assert found.bytes_in("model", "mtp") == found.n_bytes


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


def test_exact_layouts_of_real_repositories(shared: Path) -> None:
    n_layouts = 0
    for facts in sorted(shared.glob("hub/configs/*/*/.fakehub.json")):
        files = json.loads(facts.read_text()).get("virtual", {})
        layout = {name: (dtype, shape) for file in files.values() for name, (dtype, shape) in file.get("tensors", {}).items()}
        if not layout:
            continue
        spec = build(json.loads(facts.with_name("config.json").read_text()), where=str(facts))
        listed = [Tensor(name, dtype, tuple(shape), n_bytes(dtype, shape)) for name, (dtype, shape) in layout.items()]
        found = checkpoint_of(spec, listed, len(files), 0)
        end = max(offsets[1] for offsets in (entry["data_offsets"] for name, entry in entries(layout).items() if name != "__metadata__"))  # type: ignore[index]  # a header
        assert sum(holding.n_bytes for holding in found.holdings) == found.n_bytes == end
        assert sum(holding.n_tensors for holding in found.holdings) == len(layout)
        n_layouts += 1
    assert n_layouts >= 19
